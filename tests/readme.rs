//! The README's table of keys is the program's own table of commands.
//! `DAPTREE_WRITE=1 cargo test --test readme` renews it.

use std::fs;

const BEGIN: &str = "<!-- keys:begin -->\n";
const END: &str = "<!-- keys:end -->";

#[test]
fn the_readme_lists_the_keys_as_they_are() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let readme = fs::read_to_string(path).unwrap();
    let from = readme.find(BEGIN).expect("the mark before the keys") + BEGIN.len();
    let to = readme[from..].find(END).expect("the mark after the keys") + from;
    let wanted = format!("{}\n", daptree_ui::keys_markdown().trim_end());
    if std::env::var_os("DAPTREE_WRITE").is_some() {
        let renewed = format!("{}{wanted}{}", &readme[..from], &readme[to..]);
        fs::write(path, renewed).unwrap();
        return;
    }
    assert_eq!(
        &readme[from..to],
        wanted,
        "renew it: DAPTREE_WRITE=1 cargo test --test readme"
    );
}
