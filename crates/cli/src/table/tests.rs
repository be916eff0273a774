//! Each form of a table.

use super::*;

fn row(cells: &[&str]) -> Vec<String> {
    cells.iter().map(ToString::to_string).collect()
}

/// Columns as those of a path.
fn paths() -> Table {
    let header = ["path", "from", "goodput", "congestion window", "retransmissions", "status"];
    let rows = [
        row(&["wifi", "a", "93.20 Mbit/s", "1,024,000 B", "17", "active"]),
        row(&["lte", "a", "3.20 Mbit/s", "24,000 B", "1,017", "potentially failed"]),
    ];
    Table::new(&header, rows).keys(2)
}

fn widest_line(text: &str) -> usize {
    text.lines().map(length).max().unwrap_or(0)
}

#[test]
fn columns_are_as_wide_as_they_need_to_be() {
    let table = Table::new(&["name", "n"], [row(&["a", "1"]), row(&["long", "1,000"])]);
    assert_eq!(table.text(Width::FULL), "\n  name      n\n  a         1\n  long  1,000\n");
    assert_eq!(table.text(Width::of(60)), table.text(Width::FULL));
}

#[test]
fn names_of_columns_wrap_before_the_table_is_divided() {
    assert_eq!(
        paths().text(Width::of(79)),
        "
                             congestion
  path  from       goodput       window  retransmissions              status
  wifi     a  93.20 Mbit/s  1,024,000 B               17              active
  lte      a   3.20 Mbit/s     24,000 B            1,017  potentially failed
"
    );
}

#[test]
fn a_table_that_is_too_wide_continues_below_with_the_names_of_its_rows() {
    assert_eq!(
        paths().text(Width::of(60)),
        "
                             congestion
  path  from       goodput       window  retransmissions
  wifi     a  93.20 Mbit/s  1,024,000 B               17
  lte      a   3.20 Mbit/s     24,000 B            1,017

  path  from              status
  wifi     a              active
  lte      a  potentially failed
"
    );
}

#[test]
fn rows_are_stacked_where_no_column_fits_beside_their_names() {
    let name = "a-name-that-takes-most-of-the-line";
    let table = Table::new(&["path", "goodput", ""], [row(&[name, "93.20 Mbit/s", "x"])]);
    assert_eq!(
        table.text(Width::of(45)),
        "\n  path a-name-that-takes-most-of-the-line\n    goodput  93.20 Mbit/s\n             x\n"
    );
}

#[test]
fn words_wrap_in_their_column() {
    let words = "a sentence that takes more than one line beside a number";
    let table = Table::new(&["n", "what"], [row(&["1", words]), row(&["2", "short"])]).with_words();
    assert_eq!(
        table.text(Width::of(40)),
        "\n  n  what\n  1  a sentence that takes more than one\n     line beside a number\n  2  short\n"
    );
}

#[test]
fn every_cell_is_there_at_every_width() {
    let table = paths();
    for width in 40..130 {
        let text = table.text(Width::of(width));
        assert!(widest_line(&text) <= width, "{width}: {text}");
        for cell in table.rows.iter().flatten() {
            assert!(text.contains(cell.as_str()), "{width}: {cell}");
        }
    }
}

#[test]
fn a_table_without_columns_or_rows_is_no_failure() {
    for table in [
        Table::new::<&str>(&[], []),
        Table::new::<&str>(&[], [row(&["a"])]),
        Table::new(&["only a header"], []),
        Table::new(&["a", "b"], [row(&["short row"])]).keys(9).with_words(),
    ] {
        assert!(widest_line(&table.text(Width::of(40))) <= 40);
    }
}
