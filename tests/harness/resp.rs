use std::io::{Error, ErrorKind, Result};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// What Redis answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// No value.
    Nil,
    /// An integer.
    Integer(i64),
    /// A string, simple or bulk; bytes that are no UTF-8 are replaced.
    Text(String),
    /// An error, its code first.
    Error(String),
    /// Several values.
    Array(Vec<Value>),
}

impl Value {
    /// The text; fails the test if it is none.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            other => panic!("not a text: {other:?}"),
        }
    }

    /// The integer; fails the test if it is none.
    pub fn integer(&self) -> i64 {
        match self {
            Self::Integer(integer) => *integer,
            other => panic!("not an integer: {other:?}"),
        }
    }

    /// The values; fails the test if it is no array.
    pub fn array(&self) -> &[Value] {
        match self {
            Self::Array(values) => values,
            other => panic!("not an array: {other:?}"),
        }
    }
}

/// Sends one command over a connection of its own and reads the answer.
pub(crate) async fn call(port: u16, command: &[&str]) -> Result<Value> {
    let mut connection = BufReader::new(TcpStream::connect(("127.0.0.1", port)).await?);
    let words = command.iter().map(|word| format!("${}\r\n{word}\r\n", word.len()));
    let request = format!("*{}\r\n{}", command.len(), words.collect::<String>());
    connection.write_all(request.as_bytes()).await?;
    read(&mut connection).await
}

async fn read(connection: &mut BufReader<TcpStream>) -> Result<Value> {
    let mut line = String::new();
    connection.read_line(&mut line).await?;
    let line = line.strip_suffix("\r\n").ok_or(ErrorKind::UnexpectedEof)?;
    let (kind, rest) = line.split_at_checked(1).ok_or(ErrorKind::InvalidData)?;
    match kind {
        "+" => Ok(Value::Text(rest.to_owned())),
        "-" => Ok(Value::Error(rest.to_owned())),
        ":" => Ok(Value::Integer(number(rest)?)),
        "$" => read_bulk(connection, number(rest)?).await,
        "*" => read_array(connection, number(rest)?).await,
        _ => Err(Error::new(ErrorKind::InvalidData, line)),
    }
}

async fn read_bulk(connection: &mut BufReader<TcpStream>, length: i64) -> Result<Value> {
    let Ok(length) = usize::try_from(length) else { return Ok(Value::Nil) };
    let mut bytes = vec![0; length + 2];
    connection.read_exact(&mut bytes).await?;
    bytes.truncate(length);
    Ok(Value::Text(String::from_utf8_lossy(&bytes).into_owned()))
}

async fn read_array(connection: &mut BufReader<TcpStream>, length: i64) -> Result<Value> {
    let Ok(length) = usize::try_from(length) else { return Ok(Value::Nil) };
    let mut values = Vec::with_capacity(length);
    for _ in 0..length {
        values.push(Box::pin(read(connection)).await?);
    }
    Ok(Value::Array(values))
}

fn number(text: &str) -> Result<i64> {
    text.parse().map_err(|error| Error::new(ErrorKind::InvalidData, error))
}
