//! Every input that once broke a target.

use std::fs;
use std::path::Path;

#[test]
fn what_was_found_stays_mended() {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions");
    let mut replayed = 0;
    for folder in fs::read_dir(all).expect("a folder of regressions") {
        let folder = folder.expect("a folder");
        let name = folder.file_name().into_string().expect("a target's name");
        let target = lycosa_fuzz::TARGETS.iter().find(|(known, _)| *known == name);
        let (_, target) = target.unwrap_or_else(|| panic!("regressions/{name}: there is no such target"));
        for input in fs::read_dir(folder.path()).expect("a target's folder") {
            let path = input.expect("an input").path();
            println!("{}", path.display()); // shown when the target panics
            target(&fs::read(path).expect("a file"));
            replayed += 1;
        }
    }
    assert!(replayed > 0, "there are regressions");
}
