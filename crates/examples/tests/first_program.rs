//! The program of docs/first-program.md does what the page says.

mod first_program {
    #![allow(dead_code, reason = "the program has a function `main`, which is not run here")]

    include!("first_program/program.rs");

    #[test]
    fn the_page_has_the_program() {
        let program = include_str!("first_program/program.rs");
        let page = include_str!("../../../docs/first-program.md");
        let shown = page.split_once("```rust\n").and_then(|(_, rest)| rest.split_once("```"));
        assert_eq!(shown.expect("a block of Rust").0, program);
    }

    #[tokio::test]
    async fn everything_arrives_without_one_of_the_addresses() -> Result<()> {
        let server = ["127.0.0.141".parse()?, "127.0.0.142".parse()?];
        let client = ["127.0.0.143".parse()?, "127.0.0.144".parse()?];
        let serving = tokio::spawn(serve(server));
        // The server binds its addresses the first time that it runs.
        tokio::task::yield_now().await;
        assert!(!serving.is_finished(), "the server has ended: {:?}", serving.await);
        // Returns when the server has all messages.
        send(client, server).await?;
        serving.abort();
        Ok(())
    }
}
