//! A ledger with a counter of the platform, so that restoring an older file recovers no budget.
//!
//! `cargo run -p undertone --example counted_ledger`
//!
//! The counter here is a **stand-in**: a number in a file of another folder, which can be restored
//! like the ledger. A real counter is in a place that backups do not include: see the README of the
//! folder `ffi`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;

use undertone::release::ledger::{Counter, LedgerFile, utc_day};
use undertone_core::unit::Unit;

/// Stands for the key store.
#[derive(Debug)]
struct StandIn(PathBuf);

impl Counter for StandIn {
    fn read(&mut self) -> io::Result<u64> {
        let text = match fs::read_to_string(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            text => text?,
        };
        text.parse().map_err(io::Error::other)
    }

    fn raise(&mut self, to: u64) -> io::Result<()> {
        let mut file = File::create(&self.0)?;
        file.write_all(to.to_string().as_bytes())?;
        file.sync_all()
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let ledger = folder.path().join("budget.ledger");
    let counter =
        || -> Option<Box<dyn Counter>> { Some(Box::new(StandIn(folder.path().join("keystore")))) };
    let (unit, budget, today) = (Unit::Sentence, "10".parse()?, utc_day());

    let mut file = LedgerFile::open_or_create_counted(&ledger, unit, budget, counter())?;
    drop(file.spend("3".parse::<undertone_core::Epsilon>()?, today)?);
    let copy = fs::read(&ledger)?;
    for _ in 0..2 {
        drop(file.spend("3".parse::<undertone_core::Epsilon>()?, today)?);
    }
    println!("left today: {} micro", file.remaining(today)?);
    drop(file);

    fs::write(&ledger, copy)?;
    match LedgerFile::open_or_create_counted(&ledger, unit, budget, counter()) {
        Ok(_) => return Err("the copy was taken".into()),
        Err(error) => println!("an older copy: {error}"),
    }
    let file = LedgerFile::recreate_spent(&ledger, unit, budget, today, counter())?;
    println!("recreated, left today: {} micro", file.remaining(today)?);
    println!("left tomorrow: {} micro", file.remaining(today + 1)?);
    Ok(())
}
