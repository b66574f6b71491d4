//! What is said of a breakpoint that the adapter verified and that can never be hit.

use crate::scene;
use daptree_model::{Op, Reach, RowState};
use daptree_testing::Front;

/// Goes on when something is written into its pipe `go`.
const WAITS: &str = "import os, sys\nos.mkfifo('go')\nsys.path.insert(0, 'build/lib')\n\
    import shop.price\nopen('go').read()\nprint('price', shop.price.of(2))\n";
const PRICE: &str = "def of(n):\n    return n * 3  # here\n";

#[test]
fn a_copy_elsewhere_is_named_and_its_map_makes_it_stop() {
    let scene = scene();
    scene.write("waits.py", WAITS);
    for folder in ["shop", "build/lib/shop"] {
        scene.write(&format!("{folder}/__init__.py"), "");
        scene.write(&format!("{folder}/price.py"), PRICE);
    }
    let mut front = Front::start(&scene);
    let root = front.launch(&["python", "waits.py"], &[("shop/price.py", "# here")]);
    let snapshot = front.until("it is out of reach", |snapshot| {
        snapshot.breakpoints[0].out_of_reach().is_some()
    });
    let known = &snapshot.breakpoints[0];
    assert_eq!(known.verified(), (0, 1));
    let (row, reason, offer) = known.out_of_reach().unwrap();
    assert_eq!(row, root);
    let copy = scene.file("build/lib/shop/price.py");
    assert!(reason.contains(copy.to_str().unwrap()), "{reason}");
    let offer = offer.expect("a map");
    assert_eq!(offer.local, scene.file("shop").to_str().unwrap());
    front.command(Op::AcceptOffer(known.id)).unwrap();
    front.until("it is in reach", |snapshot| {
        snapshot.breakpoints[0].reach.get(&root) == Some(&Reach::Loaded)
    });
    scene.write("go", "");
    let row = front.until_state(root, RowState::Paused);
    let stop = row.stopped.as_ref().unwrap();
    let place = stop.place.as_ref().unwrap();
    assert_eq!(place.path, scene.file("shop/price.py").to_str().unwrap());
    assert_eq!(stop.breakpoints, [known.id]);
    front.go_on(root);
    front.until_output("price 6");
}

#[test]
fn a_file_that_is_not_loaded_is_no_error_and_one_that_is_is_reached() {
    let scene = scene();
    scene.write("waits.py", WAITS);
    scene.write("shop/__init__.py", "");
    scene.write("shop/price.py", PRICE);
    scene.write("other.py", PRICE);
    let mut front = Front::start(&scene);
    let places = [("shop/price.py", "# here"), ("other.py", "# here")];
    let root = front.launch(&["python", "waits.py"], &places);
    let snapshot = front.until("both were looked for", |snapshot| {
        let known = &snapshot.breakpoints;
        known.iter().all(|b| b.reach.contains_key(&root))
    });
    assert_eq!(snapshot.breakpoints[0].reach[&root], Reach::Loaded);
    assert_eq!(snapshot.breakpoints[1].reach[&root], Reach::NotYet);
    assert_eq!(snapshot.breakpoints[1].verified(), (1, 1));
    scene.write("go", "");
    front.until_state(root, RowState::Paused);
}

#[test]
fn code_that_was_compiled_under_another_name_is_said() {
    let scene = scene();
    let module = scene.write("moved.py", PRICE);
    let compiled = "import py_compile\n\
        py_compile.compile('moved.py', cfile='moved.pyc', dfile='/nowhere/moved.py')\n\
        import importlib.util as util, os, sys\nos.mkfifo('go')\n\
        spec = util.spec_from_file_location('moved', 'moved.pyc')\n\
        moved = util.module_from_spec(spec)\nsys.modules['moved'] = moved\n\
        spec.loader.exec_module(moved)\nmoved.__file__ = os.path.abspath('moved.py')\n\
        open('go').read()\n";
    scene.write("uses.py", compiled);
    let mut front = Front::start(&scene);
    let root = front.launch(&["python", "uses.py"], &[("moved.py", "# here")]);
    let snapshot = front.until("it is out of reach", |snapshot| {
        snapshot.breakpoints[0].out_of_reach().is_some()
    });
    let (_, reason, offer) = snapshot.breakpoints[0].out_of_reach().unwrap();
    assert!(reason.contains("/nowhere/moved.py"), "{reason}");
    assert_eq!(offer, None, "{}", module.display());
    scene.write("go", "");
    front.until_ended(root);
}
