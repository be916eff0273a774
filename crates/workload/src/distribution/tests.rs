use super::*;
use crate::random::stream;

const DRAWS: usize = 50_000;

fn bytes(n: u64) -> ByteCount {
    ByteCount::from_bytes(n)
}

fn mix(shares: &[(u64, u64)]) -> Distribution<ByteCount> {
    let share = |(value, percent): &(u64, u64)| Share {
        value: bytes(*value),
        share: Fraction::from_percent(*percent),
    };
    Distribution::Drawn(Drawn::Mix(shares.iter().map(share).collect()))
}

fn draws(of: &Distribution<ByteCount>) -> Vec<u64> {
    let mut rng = stream(3);
    (0..DRAWS).map(|_| of.draw(&mut rng).as_bytes()).collect()
}

#[test]
fn means_are_met_and_limits_kept() {
    let all = [
        Distribution::Constant(bytes(700)),
        Distribution::Drawn(Drawn::Uniform(Uniform { from: bytes(100), to: bytes(300) })),
        Distribution::Drawn(Drawn::Exponential(Exponential { mean: bytes(5_000) })),
        Distribution::Drawn(Drawn::Pareto(Pareto { min: bytes(1_000), shape: 3.0 })),
        mix(&[(44, 50), (576, 25), (1500, 25)]),
    ];
    for of in &all {
        let draws = draws(of);
        let n = DRAWS as f64;
        let mean = draws.iter().sum::<u64>() as f64 / n;
        let square = draws.iter().map(|x| (*x as f64 - mean) * (*x as f64 - mean)).sum::<f64>() / n;
        let error = libm::sqrt(square / n);
        assert!((mean - of.mean_steps()).abs() <= 4.0 * error + 0.01, "{of:?}: {mean}");
        let (least, most) = (draws.iter().min(), draws.iter().max());
        assert!(least >= Some(&of.smallest().as_bytes()), "{of:?}");
        assert!(of.largest().is_none_or(|largest| most <= Some(&largest.as_bytes())), "{of:?}");
        assert_eq!(of.problem(), None);
    }
}

#[test]
fn shares_are_as_told() {
    let of = mix(&[(44, 50), (576, 25), (1500, 25)]);
    let draws = draws(&of);
    for (value, share) in [(44, 0.5), (576, 0.25), (1500, 0.25)] {
        let count = draws.iter().filter(|drawn| **drawn == value).count() as f64;
        let n = DRAWS as f64;
        assert!((count / n - share).abs() < 4.0 * libm::sqrt(share * (1.0 - share) / n), "{value}");
    }
}

#[test]
fn a_constant_draws_nothing() {
    let (mut used, mut other) = (stream(1), stream(1));
    assert_eq!(Distribution::Constant(bytes(3)).draw(&mut used), bytes(3));
    assert_eq!(random::unit(&mut used), random::unit(&mut other));
}

#[test]
fn problems_name_their_key() {
    let problem = |drawn| Distribution::Drawn(drawn).problem().map(|(key, _)| key);
    let cases = [
        (Drawn::Uniform(Uniform { from: bytes(2), to: bytes(1) }), "uniform.from"),
        (Drawn::Exponential(Exponential { mean: bytes(0) }), "exponential.mean"),
        (Drawn::Pareto(Pareto { min: bytes(0), shape: 2.0 }), "pareto.min"),
        (Drawn::Pareto(Pareto { min: bytes(1), shape: 0.0 }), "pareto.shape"),
        (Drawn::Pareto(Pareto { min: bytes(1), shape: f64::NAN }), "pareto.shape"),
        (Drawn::Mix(Vec::new()), "mix"),
    ];
    for (drawn, key) in cases {
        assert_eq!(problem(drawn), Some(key));
    }
    assert_eq!(mix(&[(44, 50), (576, 49)]).problem().map(|(key, _)| key), Some("mix"));
    assert_eq!(
        Distribution::Drawn(Drawn::Pareto(Pareto { min: bytes(1), shape: 1.0 })).mean_steps(),
        f64::INFINITY
    );
}

#[cfg(feature = "serde")]
#[test]
fn text_is_a_constant_and_a_table_a_distribution() {
    let read = |text: &str| serde_json::from_str::<Distribution<ByteCount>>(text);
    assert_eq!(read(r#""1452 B""#).unwrap(), Distribution::Constant(bytes(1_452)));
    let table = r#"{"pareto":{"min":"1 kB","shape":1.5}}"#;
    let pareto = read(table).unwrap();
    assert_eq!(
        pareto,
        Distribution::Drawn(Drawn::Pareto(Pareto { min: bytes(1_000), shape: 1.5 }))
    );
    assert_eq!(serde_json::to_string(&pareto).unwrap(), table);
    let mix = r#"{"mix":[{"value":"44 B","share":"50 %"},{"value":"1500 B","share":"50 %"}]}"#;
    assert_eq!(serde_json::to_string(&read(mix).unwrap()).unwrap(), mix);
    for wrong in [
        "7",
        r#""7""#,
        r#"{"normal":{}}"#,
        r#"{"exponential":{"mean":"1 B","min":"2 B"}}"#,
        r#"{"exponential":{"mean":"1 B"},"uniform":{"from":"1 B","to":"2 B"}}"#,
    ] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}
