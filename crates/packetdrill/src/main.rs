//! Runs scripts: some, or whole collections with a page.

use penstock_packetdrill::{judge, page, say, traced, Expected, Verdict};
use penstock_units::param::Profile;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

const USAGE: &str = "\
Usage: penstock-packetdrill [--profile NAME] [--trace] SCRIPT...
       penstock-packetdrill [--profile NAME] --list FILE --page FILE [--google CHECKOUT]
                            [--kernel FOLDER]

The first runs scripts and says what came of each; --trace shows every packet.
The second runs whole collections, compares with the list, and writes the page.";

fn main() -> ExitCode {
    match start() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("penstock-packetdrill: {message}");
            ExitCode::from(2)
        }
    }
}

#[derive(Default)]
struct Wish {
    profile: Option<Profile>,
    trace: bool,
    scripts: Vec<PathBuf>,
    list: Option<PathBuf>,
    page: Option<PathBuf>,
    google: Option<PathBuf>,
    kernel: Option<PathBuf>,
}

/// Returns whether all is as it should be.
fn start() -> Result<bool, String> {
    let mut wish = Wish::default();
    let mut args = env::args_os().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || {
            let missing = || format!("{} needs a value\n{USAGE}", arg.to_string_lossy());
            args.next().map(PathBuf::from).ok_or_else(missing)
        };
        match arg.to_str() {
            Some("--help" | "-h") => {
                println!("{USAGE}");
                return Ok(true);
            }
            Some("--trace") => wish.trace = true,
            Some("--profile") => {
                let name = value()?;
                let mut known = Profile::ALL.iter();
                let found = known.find(|profile| Path::new(profile.word()) == name);
                let unknown = || format!("no profile {}", name.display());
                wish.profile = Some(*found.ok_or_else(unknown)?);
            }
            Some("--list") => wish.list = Some(value()?),
            Some("--page") => wish.page = Some(value()?),
            Some("--google") => wish.google = Some(value()?),
            Some("--kernel") => wish.kernel = Some(value()?),
            Some(option) if option.starts_with('-') => {
                return Err(format!("unknown option {option}\n{USAGE}"));
            }
            _ => wish.scripts.push(arg.into()),
        }
    }
    let profile = wish.profile.unwrap_or(Profile::Linux);
    match (&wish.list, &wish.page) {
        (Some(list), Some(page)) if wish.scripts.is_empty() => {
            collections(&wish, profile, list, page)
        }
        (None, None) if !wish.scripts.is_empty() => scripts(&wish, profile),
        _ => Err(USAGE.to_string()),
    }
}

fn read(path: &Path) -> Result<String, String> {
    let bytes = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn scripts(wish: &Wish, profile: Profile) -> Result<bool, String> {
    let mut all = true;
    for path in &wish.scripts {
        let mut trace = String::new();
        let verdict = traced(&read(path)?, profile, &mut trace);
        if wish.trace {
            print!("{trace}");
        }
        println!("{}: {}", path.display(), say(&verdict));
        all &= matches!(verdict, Verdict::Passed(_));
    }
    Ok(all)
}

fn collections(wish: &Wish, profile: Profile, list: &Path, to: &Path) -> Result<bool, String> {
    let expected = Expected::read(&read(list)?)?;
    let mut rows = Vec::new();
    let google = wish.google.as_ref().map(|checkout| checkout.join("gtests/net"));
    for (collection, folder) in [("google", google), ("kernel", wish.kernel.clone())] {
        let Some(folder) = folder else { continue };
        let judged = judge(collection, &folder, profile);
        rows.extend(judged.map_err(|e| format!("{}: {e}", folder.display()))?);
    }
    if rows.is_empty() {
        return Err("no scripts: name a checkout of google/packetdrill".to_string());
    }
    fs::write(to, page(&rows, &expected, profile)).map_err(|e| format!("{}: {e}", to.display()))?;
    let surprises = expected.surprises(&rows);
    surprises.iter().for_each(|line| println!("{line}"));
    let passed = rows.iter().filter(|row| matches!(row.verdict, Verdict::Passed(_))).count();
    println!("{passed} of {} scripts pass; {}", rows.len(), to.display());
    Ok(surprises.is_empty())
}
