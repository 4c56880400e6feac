//! What outside formats mean to us. Pure: bytes in, meaning out; nothing here waits, reads a clock or opens a file.

pub mod jsonl;
pub mod openai;
pub mod smi_log;
pub mod sse;
