//! `undertone count`.
mod common;
