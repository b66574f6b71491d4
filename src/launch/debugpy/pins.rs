//! The one version of debugpy that daptree fetches, with the SHA-256 of every file of it on
//! the package index. It must not know how they are fetched.

/// The version.
pub const VERSION: &str = "1.8.22";

/// The platforms and ABI tags that have a wheel of their own; everything else takes the pure one.
pub(super) const NATIVE_TAGS: [&str; 7] =
    ["cp39", "cp310", "cp311", "cp312", "cp313", "cp314", "cp315"];

/// The oldest glibc of the Linux wheels.
pub(super) const LINUX_GLIBC: (u32, u32) = (2, 34);

/// SHA-256 of every file of [`VERSION`].
pub(super) const SHA256: [&str; 30] = [
    // debugpy-1.8.22-cp310-cp310-macosx_15_0_x86_64.whl
    "fa47099176d1d612bef69e9f74658a5687a9f05bd80fb5710f99959bace85735",
    // debugpy-1.8.22-cp310-cp310-manylinux_2_34_x86_64.whl
    "7bf29e0d8ce80b100d37fb333e1b193b790d962739f3067796c2b03ffdc9afee",
    // debugpy-1.8.22-cp310-cp310-win32.whl
    "56b877b37ed73f0bf53ba7afc394816ff1eb5d701bae24a24ed9e1ea6f7ce34f",
    // debugpy-1.8.22-cp310-cp310-win_amd64.whl
    "1bd0c6df3c68c0a3f71db8baa3780a953abb65537ec4b3bc6b935ad5b3b3d45c",
    // debugpy-1.8.22-cp311-cp311-macosx_15_0_universal2.whl
    "66e4ac3d6e7026e83e7d93d7ee2f51dd4a4e8dff673578d424e60796893e5b2c",
    // debugpy-1.8.22-cp311-cp311-manylinux_2_34_x86_64.whl
    "192b73e8d53bbd60225220c0943627bf249ac93d0ea3090e23c45f3e0ceb6a35",
    // debugpy-1.8.22-cp311-cp311-win32.whl
    "745e1800ec2961e5660c1a317c0a20e28c0fef4de36c04f17a21c33f2b37a92a",
    // debugpy-1.8.22-cp311-cp311-win_amd64.whl
    "1e76339d5510bc17e9181dba9577508afcb21aad5728f1a55ef74d7d97d255f3",
    // debugpy-1.8.22-cp312-cp312-macosx_15_0_universal2.whl
    "4ad076f4f66cb8acb79e4384d48b1ea60a0b1957aa0b1112d4887ea3a4df60e0",
    // debugpy-1.8.22-cp312-cp312-manylinux_2_34_x86_64.whl
    "8a697acec45dbc70d17fb5d9f4f61989fc294d273c69de487fd10cb35fdd75eb",
    // debugpy-1.8.22-cp312-cp312-win32.whl
    "12bc7f368182b517cf26c76a2393fff65354e365fa1552b6241e66edff17997b",
    // debugpy-1.8.22-cp312-cp312-win_amd64.whl
    "371a4ba4a5975eb958393903f3254cf983da7b1c7c178b3f987ee427f42515e3",
    // debugpy-1.8.22-cp313-cp313-macosx_15_0_universal2.whl
    "c21dd7e1ec22556bb41dc3bf6b86c603e440ec889c4acb27d7206354b2106c54",
    // debugpy-1.8.22-cp313-cp313-manylinux_2_34_x86_64.whl
    "c1ffb9953708b648ecf6acd2e5ad2c002bf68785ed618197dd4463a2a7226f39",
    // debugpy-1.8.22-cp313-cp313-win32.whl
    "ba810a66b437e3c43ca0ce0892404f010338286263ca8e5108442d76a9485337",
    // debugpy-1.8.22-cp313-cp313-win_amd64.whl
    "f49b1d6cecf326b63c06d7f517e4a6642777f758c58cb799e7bc5a6dd74721c2",
    // debugpy-1.8.22-cp314-cp314-macosx_15_0_universal2.whl
    "e6744ac1850c73c2ba7b29a126cf9ab74efd1831190720e8fee17ef5389c8f5d",
    // debugpy-1.8.22-cp314-cp314-manylinux_2_34_x86_64.whl
    "0c1104233340196e5cbf5514e7dfdbb98968e730cfd7fdd6f3d72a082be838a9",
    // debugpy-1.8.22-cp314-cp314-win32.whl
    "feea785c7bbeb8cfd5b01a63f9061c899dc468c8be81671141a29305774fa294",
    // debugpy-1.8.22-cp314-cp314-win_amd64.whl
    "d593a330297332ec435f3965c448b6d500e03f33675cf2063178bc76377a788e",
    // debugpy-1.8.22-cp315-cp315-macosx_15_0_universal2.whl
    "a9eca6ab09a61534e923064400081e016f7e1d8430cc6e8b7a9cecd2f59e2b07",
    // debugpy-1.8.22-cp315-cp315-manylinux_2_34_x86_64.whl
    "b7dbde1fb822d100802d505b2aed6d0813b1a0a2015d495cb8798b2215d5d1e5",
    // debugpy-1.8.22-cp315-cp315-win32.whl
    "225d063f81708c2546999e7edfac0198b2d5c2f144797dc64858f867948633e0",
    // debugpy-1.8.22-cp315-cp315-win_amd64.whl
    "b17a4896520f1c6da09ce76ec8215df0b85b0b6f3617526a4c65c2315340875a",
    // debugpy-1.8.22-cp39-cp39-macosx_15_0_x86_64.whl
    "cba7b99573ee41f9510c6deeff1cdd0c333748b9dd63d5016413dd57ba9a4593",
    // debugpy-1.8.22-cp39-cp39-manylinux_2_34_x86_64.whl
    "3b7c328cb47b4e2f2b40801936daf8150f88dcb4ffef5080ff119270f0d23626",
    // debugpy-1.8.22-cp39-cp39-win32.whl
    "ffeeaf4dfe1534375902040df32a4c48f721fd35a4d4d337ac72a44d4176075b",
    // debugpy-1.8.22-cp39-cp39-win_amd64.whl
    "92fc425308a08f601f3c69afb4719767f9b898276f44b97e6942a713c4c32740",
    // debugpy-1.8.22-py2.py3-none-any.whl
    "a9e9d3550e15ca479c59333e90845029190531f0cacfedab3b815a57bd913947",
    // debugpy-1.8.22.tar.gz
    "e489c7268e1c7b41e13b438d9c533d2a7af73fb59bf8cd30fead8286c1c39c4e",
];
