//! The code of a script: as much of Python as assertions about a connection need. Integers,
//! comparisons, `and`, `or`, `not`, sums, assignments; `print` does nothing.

use std::collections::BTreeMap;

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// `assert test, …`.
    Assert(Expr),
    /// `name = value`, with `add` `name += value`.
    Assign {
        /// The name.
        name: String,
        /// What it becomes, or what is added.
        value: Expr,
        /// Whether the value is added.
        add: bool,
    },
}

/// An expression, all of whose values are integers: true is one.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A number.
    Number(i64),
    /// What a name stands for.
    Name(String),
    /// The opposite of a truth.
    Not(Box<Expr>),
    /// Two values joined.
    Join(Box<Expr>, Op, Box<Expr>),
    /// `a <= b < c`.
    Chain(Box<Expr>, Vec<(Op, Expr)>),
}

/// What joins two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<=`
    Le,
    /// `>=`
    Ge,
    /// `<`
    Lt,
    /// `>`
    Gt,
    /// `and`
    And,
    /// `or`
    Or,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `&`
    BitAnd,
}

/// The longest first, where one begins another.
const COMPARE: &[(&str, Op)] =
    &[("==", Op::Eq), ("!=", Op::Ne), ("<=", Op::Le), (">=", Op::Ge), ("<", Op::Lt), (">", Op::Gt)];

/// No script nests deeper, and none has a longer statement.
const DEEPEST: usize = 64;
const MOST_TERMS: usize = 500;

/// Reads code.
///
/// # Errors
/// What stands there that is not read.
pub fn parse(text: &str) -> Result<Vec<Statement>, String> {
    let mut p = Parser { rest: text, depth: 0, terms: 0 };
    let mut statements = Vec::new();
    loop {
        p.between();
        if p.rest.is_empty() {
            return Ok(statements);
        }
        statements.extend(p.statement()?);
    }
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
    terms: usize,
}

impl<'a> Parser<'a> {
    /// Skips what stands between two statements.
    fn between(&mut self) {
        loop {
            self.rest = self.rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';');
            if !self.rest.starts_with('#') {
                return;
            }
            self.skip_to_end();
        }
    }

    fn blank(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r']);
    }

    fn eat(&mut self, token: &str) -> bool {
        self.blank();
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn word(&mut self) -> &'a str {
        self.blank();
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let before = self.rest;
        let found = self.word() == word;
        if !found {
            self.rest = before;
        }
        found
    }

    /// Skips the rest of a statement: to the end of its line, or to its semicolon.
    fn skip_to_end(&mut self) {
        let comment = self.rest.starts_with('#');
        let (mut quote, mut depth) = (None, 0_usize);
        for (i, c) in self.rest.char_indices() {
            match quote {
                _ if comment && c != '\n' => {}
                Some(q) if c == q => quote = None,
                Some(_) => {}
                None => match c {
                    '\'' | '"' => quote = Some(c),
                    '(' | '[' => depth += 1,
                    ')' | ']' => depth = depth.saturating_sub(1),
                    '\n' | ';' | '#' if depth == 0 => {
                        self.rest = &self.rest[i..];
                        return;
                    }
                    _ => {}
                },
            }
        }
        self.rest = "";
    }

    fn statement(&mut self) -> Result<Option<Statement>, String> {
        self.terms = 0;
        let word = self.word();
        match word {
            "assert" => {
                let test = self.expr()?;
                if self.eat(",") {
                    self.skip_to_end();
                }
                self.end()?;
                Ok(Some(Statement::Assert(test)))
            }
            "print" => {
                self.skip_to_end();
                Ok(None)
            }
            "" => {
                Err(format!("code that begins with `{}`", self.rest.chars().next().unwrap_or(' ')))
            }
            _ if self.eat("+=") => self.assign(word, true),
            _ if !self.rest.starts_with("==") && self.eat("=") => self.assign(word, false),
            _ => Err(format!("the statement `{word}`")),
        }
    }

    fn assign(&mut self, name: &str, add: bool) -> Result<Option<Statement>, String> {
        let value = self.expr()?;
        self.end()?;
        Ok(Some(Statement::Assign { name: name.to_string(), value, add }))
    }

    /// A statement is over.
    fn end(&mut self) -> Result<(), String> {
        self.blank();
        match self.rest.chars().next() {
            None | Some('\n' | ';' | '#') => Ok(()),
            Some(c) => Err(format!("`{c}` in code")),
        }
    }

    fn expr(&mut self) -> Result<Expr, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("code nested too deep".to_string());
        }
        let mut left = self.all()?;
        while self.eat_word("or") {
            left = join(left, Op::Or, self.all()?);
        }
        self.depth -= 1;
        Ok(left)
    }

    fn all(&mut self) -> Result<Expr, String> {
        let mut left = self.truth()?;
        while self.eat_word("and") {
            left = join(left, Op::And, self.truth()?);
        }
        Ok(left)
    }

    fn truth(&mut self) -> Result<Expr, String> {
        let mut opposite = false;
        while self.eat_word("not") {
            opposite = !opposite;
        }
        let first = self.bits()?;
        let mut rest = Vec::new();
        while let Some((_, op)) = COMPARE.iter().find(|(token, _)| self.eat(token)) {
            rest.push((*op, self.bits()?));
        }
        let chain = if rest.is_empty() { first } else { Expr::Chain(Box::new(first), rest) };
        Ok(if opposite { Expr::Not(Box::new(chain)) } else { chain })
    }

    fn bits(&mut self) -> Result<Expr, String> {
        let mut left = self.sum()?;
        while self.eat("&") {
            left = join(left, Op::BitAnd, self.sum()?);
        }
        Ok(left)
    }

    fn sum(&mut self) -> Result<Expr, String> {
        let mut left = self.atom()?;
        loop {
            let op = match () {
                () if self.eat("+") => Op::Add,
                () if self.eat("-") => Op::Sub,
                () if self.eat("*") => Op::Mul,
                () => return Ok(left),
            };
            let right = self.atom()?;
            left = match left {
                // A product binds what stands to its left.
                Expr::Join(a, before @ (Op::Add | Op::Sub), b) if op == Op::Mul => {
                    Expr::Join(a, before, Box::new(join(*b, op, right)))
                }
                left => join(left, op, right),
            };
        }
    }

    fn atom(&mut self) -> Result<Expr, String> {
        self.terms += 1;
        if self.terms > MOST_TERMS {
            return Err("a statement too long".to_string());
        }
        if self.eat("(") {
            let inner = self.expr()?;
            if !self.eat(")") {
                return Err("code with a bracket open".to_string());
            }
            // A sum in brackets is one value.
            return Ok(join(Expr::Number(0), Op::Or, inner));
        }
        let less = self.eat("-");
        let word = self.word();
        let number = match word.strip_prefix("0x") {
            Some(hex) => i64::from_str_radix(hex, 16).ok(),
            None => word.parse().ok(),
        };
        let atom = match number {
            Some(n) => Expr::Number(n),
            None if word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') => {
                Expr::Name(word.to_string())
            }
            None => {
                let c = self.rest.chars().next();
                return Err(format!("{} in code", c.map_or("an end".into(), |c| format!("`{c}`"))));
            }
        };
        Ok(if less { join(Expr::Number(0), Op::Sub, atom) } else { atom })
    }
}

fn join(left: Expr, op: Op, right: Expr) -> Expr {
    Expr::Join(Box::new(left), op, Box::new(right))
}

/// The names that code knows: what it has assigned, and what a connection tells.
#[derive(Clone, Debug, Default)]
pub struct Names {
    own: BTreeMap<String, i64>,
}

/// Why an assertion does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// What it says.
    pub expected: String,
    /// What its names stand for.
    pub got: String,
}

/// What came of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// An assertion does not hold.
    Broken(Broken),
    /// Nobody knows the name.
    Unknown(String),
}

impl Names {
    /// Runs statements; `told` gives what a connection tells.
    ///
    /// # Errors
    /// If an assertion does not hold, or a name is not known.
    pub fn run(
        &mut self,
        code: &[Statement],
        told: &dyn Fn(&str) -> Option<i64>,
    ) -> Result<(), Trouble> {
        for statement in code {
            match statement {
                Statement::Assign { name, value, add } => {
                    let mut value = self.value(value, told)?;
                    if *add {
                        value = value.wrapping_add(self.of(name, told)?);
                    }
                    self.own.insert(name.clone(), value);
                }
                Statement::Assert(test) => {
                    if self.value(test, told)? == 0 {
                        let got = self.what_stands_there(test, told);
                        return Err(Trouble::Broken(Broken { expected: write(test), got }));
                    }
                }
            }
        }
        Ok(())
    }

    fn of(&self, name: &str, told: &dyn Fn(&str) -> Option<i64>) -> Result<i64, Trouble> {
        let own = self.own.get(name).copied();
        own.or_else(|| told(name)).ok_or_else(|| Trouble::Unknown(name.to_string()))
    }

    fn value(&self, expr: &Expr, told: &dyn Fn(&str) -> Option<i64>) -> Result<i64, Trouble> {
        Ok(match expr {
            Expr::Number(n) => *n,
            Expr::Name(name) => self.of(name, told)?,
            Expr::Not(inner) => i64::from(self.value(inner, told)? == 0),
            Expr::Join(left, op, right) => {
                let left = self.value(left, told)?;
                match op {
                    Op::And if left == 0 => left,
                    Op::Or if left != 0 => left,
                    _ => apply(left, *op, self.value(right, told)?),
                }
            }
            Expr::Chain(first, rest) => {
                let mut left = self.value(first, told)?;
                for (op, right) in rest {
                    let right = self.value(right, told)?;
                    if apply(left, *op, right) == 0 {
                        return Ok(0);
                    }
                    left = right;
                }
                1
            }
        })
    }

    /// Returns the names of an assertion, with what they stand for.
    fn what_stands_there(&self, expr: &Expr, told: &dyn Fn(&str) -> Option<i64>) -> String {
        let mut names = Vec::new();
        collect(expr, &mut names);
        names.dedup();
        let known = |name: &&str| self.of(name, told).ok().map(|v| format!("{name} = {v}"));
        names.iter().filter_map(known).collect::<Vec<_>>().join(", ")
    }
}

/// Returns the names that code reads before it assigns them.
pub fn reads(code: &[Statement]) -> Vec<String> {
    let (mut own, mut read): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for statement in code {
        let (Statement::Assert(value) | Statement::Assign { value, .. }) = statement;
        let mut names = Vec::new();
        collect(value, &mut names);
        read.extend(names.into_iter().filter(|name| !own.contains(name)));
        if let Statement::Assign { name, add, .. } = statement {
            if *add && !own.contains(&name.as_str()) {
                read.push(name);
            }
            own.push(name);
        }
    }
    read.into_iter().map(str::to_string).collect()
}

/// Returns the names that code assigns.
pub fn assigns(code: &[Statement]) -> impl Iterator<Item = &str> {
    code.iter().filter_map(|statement| match statement {
        Statement::Assign { name, .. } => Some(name.as_str()),
        Statement::Assert(_) => None,
    })
}

fn collect<'a>(expr: &'a Expr, names: &mut Vec<&'a str>) {
    match expr {
        Expr::Number(_) => {}
        Expr::Name(name) => names.push(name),
        Expr::Not(inner) => collect(inner, names),
        Expr::Join(left, _, right) => {
            collect(left, names);
            collect(right, names);
        }
        Expr::Chain(first, rest) => {
            collect(first, names);
            rest.iter().for_each(|(_, right)| collect(right, names));
        }
    }
}

fn apply(left: i64, op: Op, right: i64) -> i64 {
    match op {
        Op::Eq => i64::from(left == right),
        Op::Ne => i64::from(left != right),
        Op::Le => i64::from(left <= right),
        Op::Ge => i64::from(left >= right),
        Op::Lt => i64::from(left < right),
        Op::Gt => i64::from(left > right),
        Op::And | Op::Or => right,
        Op::Add => left.wrapping_add(right),
        Op::Sub => left.wrapping_sub(right),
        Op::Mul => left.wrapping_mul(right),
        Op::BitAnd => left & right,
    }
}

/// Writes an expression.
fn write(expr: &Expr) -> String {
    let token = |op: &Op| match op {
        Op::And => "and",
        Op::Or => "or",
        Op::Add => "+",
        Op::Sub => "-",
        Op::Mul => "*",
        Op::BitAnd => "&",
        other => COMPARE.iter().find(|(_, op)| op == other).map_or("", |(token, _)| token),
    };
    match expr {
        Expr::Number(n) => n.to_string(),
        Expr::Name(name) => name.clone(),
        Expr::Not(inner) => format!("not {}", write(inner)),
        Expr::Join(zero, Op::Or, inner) if **zero == Expr::Number(0) => {
            format!("({})", write(inner))
        }
        Expr::Join(left, op, right) => format!("{} {} {}", write(left), token(op), write(right)),
        Expr::Chain(first, rest) => {
            let each = rest.iter().map(|(op, right)| format!(" {} {}", token(op), write(right)));
            write(first) + &each.collect::<String>()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str) -> Result<(), Trouble> {
        let told = |name: &str| match name {
            "tcpi_snd_cwnd" => Some(10),
            "tcpi_ca_state" => Some(3),
            _ => None,
        };
        Names::default().run(&parse(text).unwrap_or_else(|e| panic!("{text}: {e}")), &told)
    }

    #[test]
    fn what_holds_and_what_does_not() {
        for (text, holds) in [
            ("assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd", true),
            ("assert tcpi_snd_cwnd != 10", false),
            ("assert 9 <= tcpi_snd_cwnd <= 10 and not tcpi_ca_state == 2", true),
            ("assert 9 <= tcpi_snd_cwnd < 10", false),
            ("assert 1 + 2 * 3 - 1 == 6", true),
            ("assert (1 + 2) * 3 == 9", true),
            ("assert 1 & 2 + 3 == 1", true),
            ("assert (tcpi_snd_cwnd & 8) != 0, 'cwnd=%d; no' % tcpi_snd_cwnd", true),
            ("assert -1 < 0 or unknown == 2", true),
            ("a = 0x10; a += 1; print(a, '#'); assert a == 17", true),
            ("\nassert tcpi_snd_cwnd == 10, (\n 1, 2)\nassert 1 == 2 # no\n", false),
            ("# assert 1 == 2\nassert 1 == 1; assert 2 > 1", true),
        ] {
            assert_eq!(run(text).is_ok(), holds, "{text}");
        }
    }

    #[test]
    fn a_broken_assertion_says_what_it_found() {
        let broken = run("cwnd = 9\nassert tcpi_snd_cwnd == cwnd + 2, 'no'");
        assert_eq!(
            broken,
            Err(Trouble::Broken(Broken {
                expected: "tcpi_snd_cwnd == cwnd + 2".into(),
                got: "tcpi_snd_cwnd = 10, cwnd = 9".into()
            }))
        );
        assert_eq!(run("assert tcpi_lost == 1"), Err(Trouble::Unknown("tcpi_lost".into())));
    }

    #[test]
    fn what_is_not_read_is_named() {
        for text in
            ["import os", "if a: b", "assert", "assert (1", "assert 1 == 'a'", "a", "a == 1"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"(".repeat(100_000)).is_err());
        assert!(parse(&format!("assert {}1", "(".repeat(100_000))).is_err());
        assert!(parse(&format!("assert 1{}", " + 1".repeat(100_000))).is_err());
    }

    #[test]
    fn names_that_are_read() {
        let code = parse("a = tcpi_lost; b += a; assert a == tcpi_rtt").expect("code");
        assert_eq!(reads(&code), ["tcpi_lost", "b", "tcpi_rtt"]);
        assert_eq!(assigns(&code).collect::<Vec<_>>(), ["a", "b"]);
    }
}
