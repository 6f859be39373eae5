//! Reads a script. The language is packetdrill's, as far as scripts about congestion control, loss
//! recovery and ECN use it; what is not read is named, with its line.

use crate::script::{
    Action, Base, Call, EcnField, Event, Flags, Options, Packet, Script, ScriptOption, TcpOption,
    When,
};
use penstock_units::{Duration, Ecn};

/// What of a script cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The line.
    pub line: usize,
    /// What stands there.
    pub what: String,
}

/// Reads a script.
///
/// # Errors
/// If something stands there that is not of the language, or of a part that is not read.
pub fn parse(text: &str) -> Result<Script, Unread> {
    let mut p = Parser { text, at: 0 };
    let mut script = Script::default();
    loop {
        p.space()?;
        if p.rest().is_empty() {
            return Ok(script);
        }
        let line = p.line();
        if p.eat("--") {
            let (name, value) = p.option();
            script.options.push(ScriptOption { line, name, value });
            continue;
        }
        let when = if p.rest().starts_with('`') {
            When { base: Base::Previous, from: Duration::ZERO, to: Duration::ZERO }
        } else {
            p.when()?
        };
        p.space()?;
        let action = p.action()?;
        script.events.push(Event { line, when, action });
    }
}

/// No script waits longer, in seconds.
const LONGEST: u64 = 1_000_000;

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn line(&self) -> usize {
        1 + self.text[..self.at].matches('\n').count()
    }

    fn unread<T>(&self, what: impl Into<String>) -> Result<T, Unread> {
        Err(Unread { line: self.line(), what: what.into() })
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn want(&mut self, token: &str, of: &str) -> Result<(), Unread> {
        self.space()?;
        if self.eat(token) {
            return Ok(());
        }
        self.unread(format!("{of} without its `{token}`"))
    }

    /// Takes what comes before the next `end`, and `end` too.
    fn until(&mut self, end: &str, of: &str) -> Result<&'a str, Unread> {
        let rest = self.rest();
        let Some(n) = rest.find(end) else { return self.unread(format!("{of} without an end")) };
        self.at += n + end.len();
        Ok(&rest[..n])
    }

    fn take_while(&mut self, ok: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let n = rest.find(|c| !ok(c)).unwrap_or(rest.len());
        self.at += n;
        &rest[..n]
    }

    fn space(&mut self) -> Result<(), Unread> {
        loop {
            self.take_while(char::is_whitespace);
            if self.eat("//") || self.rest().starts_with('#') {
                self.take_while(|c| c != '\n');
            } else if self.eat("/*") {
                self.until("*/", "a comment")?;
            } else {
                return Ok(());
            }
        }
    }

    fn option(&mut self) -> (String, String) {
        let name = self.take_while(|c| c != '=' && !c.is_whitespace()).to_string();
        let value = if self.eat("=") { self.take_while(|c| !c.is_whitespace()) } else { "" };
        (name, value.to_string())
    }

    // ---- times ----------------------------------------------------------------------------------

    fn when(&mut self) -> Result<When, Unread> {
        if self.eat("*") {
            return Ok(When { base: Base::Any, from: Duration::ZERO, to: Duration::ZERO });
        }
        let base = if self.eat("+") { Base::Previous } else { Base::Start };
        let from = self.seconds()?;
        let mark = self.at;
        self.space()?;
        let to = if self.eat("~") {
            self.space()?;
            if self.eat("+") != (base == Base::Previous) {
                return self.unread("a range of times of two kinds");
            }
            self.seconds()?
        } else if self.eat("...") {
            self.space()?;
            self.eat("+");
            self.seconds()? // a call that blocks until then: what matters is when it begins
        } else {
            self.at = mark;
            from
        };
        Ok(When { base, from, to: to.max(from) })
    }

    fn seconds(&mut self) -> Result<Duration, Unread> {
        let whole = self.take_while(|c| c.is_ascii_digit());
        let mut nanos = 0;
        let mut digits = whole.len();
        // Three dots are a range.
        if self.rest().starts_with('.') && !self.rest().starts_with("..") {
            self.at += 1;
            let part = self.take_while(|c| c.is_ascii_digit());
            digits += part.len();
            for digit in part.bytes().chain(std::iter::repeat(b'0')).take(9) {
                nanos = nanos * 10 + u64::from(digit - b'0');
            }
        }
        if digits == 0 {
            return self.unread("something that is no event");
        }
        let whole = if whole.is_empty() { 0 } else { whole.parse().unwrap_or(u64::MAX) };
        if whole > LONGEST {
            return self.unread("a time of weeks");
        }
        Ok(Duration::from_nanos(whole * 1_000_000_000 + nanos))
    }

    // ---- what happens ---------------------------------------------------------------------------

    fn action(&mut self) -> Result<Action, Unread> {
        if self.eat("`") {
            return Ok(Action::Command(self.until("`", "a command")?.to_string()));
        }
        if self.eat("%{") {
            return Ok(Action::Code(self.until("}%", "code")?.to_string()));
        }
        if self.eat("<") {
            return Ok(Action::Packet(self.packet(true)?));
        }
        if self.eat(">") {
            return Ok(Action::Packet(self.packet(false)?));
        }
        let name = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        self.space()?;
        if name.is_empty() || !self.eat("(") {
            return self.unread("an event that is no packet, call, command or code");
        }
        Ok(Action::Call(self.call(name)?))
    }

    fn call(&mut self, name: &str) -> Result<Call, Unread> {
        let mut args = Vec::new();
        let mut depth = 0_usize;
        let mut from = self.at;
        loop {
            let Some(c) = self.rest().chars().next() else { return self.unread("a call's middle") };
            let here = self.at;
            self.at += c.len_utf8();
            match c {
                '"' => {
                    self.until("\"", "a string")?;
                }
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' if depth > 0 => depth -= 1,
                ',' | ')' if depth == 0 => {
                    let arg = self.text[from..here].trim();
                    if c == ',' || !arg.is_empty() {
                        args.push(arg.to_string());
                    }
                    from = self.at;
                    if c == ')' {
                        break;
                    }
                }
                _ => {}
            }
        }
        self.want("=", "a call")?;
        self.space()?;
        let result = self.take_while(|c| !c.is_whitespace()).to_string();
        // The error's name, and what it means.
        let mark = self.at;
        self.space()?;
        if self.rest().starts_with(|c: char| c.is_ascii_uppercase()) {
            self.take_while(|c| c.is_ascii_alphanumeric());
        } else {
            self.at = mark;
        }
        self.space()?;
        if self.eat("(") {
            self.until(")", "a remark")?;
        }
        Ok(Call { name: name.to_string(), args, result })
    }

    // ---- packets --------------------------------------------------------------------------------

    fn packet(&mut self, inbound: bool) -> Result<Packet, Unread> {
        self.space()?;
        let ecn = if self.eat("[") { Some(self.ecn_field()?) } else { None };
        self.space()?;
        let flags = self.flags()?;
        let start = self.number("a packet that is not TCP")?;
        self.want(":", "a packet's sequence numbers")?;
        let end = self.number("a packet's end")?;
        self.want("(", "a packet's length")?;
        let len = self.number("a packet's length")?;
        self.want(")", "a packet's length")?;
        if start.checked_add(len) != Some(end) {
            return self.unread("a packet whose length is not that of its sequence numbers");
        }
        let mut p = Packet {
            inbound,
            ecn,
            flags,
            start,
            len,
            ack: None,
            window: None,
            options: Options::List(Vec::new()),
        };
        loop {
            let mark = self.at;
            self.space()?;
            match self.take_while(|c| c.is_ascii_alphabetic()) {
                "ack" => p.ack = Some(self.number("an acknowledgement number")?),
                "win" => p.window = Some(self.number("a window")?),
                "" => {
                    if self.eat("<") {
                        p.options = self.options()?;
                    } else {
                        self.at = mark;
                    }
                    return Ok(p);
                }
                _ => return self.unread("a packet's field that is not read"),
            }
        }
    }

    fn ecn_field(&mut self) -> Result<EcnField, Unread> {
        Ok(match self.until("]", "an ECN field")?.trim() {
            "noecn" => EcnField::Is(Ecn::NotEct),
            "ect0" => EcnField::Is(Ecn::Ect0),
            "ect1" => EcnField::Is(Ecn::Ect1),
            "ce" => EcnField::Is(Ecn::Ce),
            "ect01" => EcnField::Capable,
            _ => return self.unread("an IP field that is not read"),
        })
    }

    fn flags(&mut self) -> Result<Flags, Unread> {
        let mut flags = Flags::default();
        let word = self.take_while(|c| !c.is_whitespace());
        for c in word.chars() {
            match c {
                'S' => flags.syn = true,
                'F' => flags.fin = true,
                'R' => flags.rst = true,
                'P' | '-' => {}
                'E' => flags.ecn |= 0b001,
                'W' => flags.ecn |= 0b010,
                'A' => flags.ecn |= 0b100,
                '.' => flags.ack = true,
                '0'..='7' => flags.ecn = c as u8 - b'0',
                _ => return self.unread("a packet that is not TCP"),
            }
        }
        if word.is_empty() {
            return self.unread("a packet without flags");
        }
        Ok(flags)
    }

    fn number(&mut self, what: &str) -> Result<u64, Unread> {
        self.space()?;
        let digits = self.take_while(|c| c.is_ascii_digit());
        match digits.parse::<u32>() {
            Ok(n) => Ok(u64::from(n)),
            Err(_) => self.unread(what),
        }
    }

    fn options(&mut self) -> Result<Options, Unread> {
        let text = self.until(">", "options")?;
        if text.trim() == "..." {
            return Ok(Options::Any);
        }
        let mut options = Vec::new();
        for option in text.split(',') {
            let mut words = option.split_whitespace();
            let Some(name) = words.next() else {
                return self.unread("an option without a name");
            };
            let mut number = || words.next()?.parse::<u32>().ok().map(u64::from);
            let read = match name {
                "mss" => number().map(TcpOption::Mss),
                "wscale" => number().map(TcpOption::WindowScale),
                "nop" | "eol" => Some(TcpOption::Padding),
                "sackOK" => Some(TcpOption::SackOk),
                "TS" => Some(TcpOption::Timestamps),
                "ECN" => counters(words).map(TcpOption::AccEcn),
                "sack" => words.map(block).collect::<Option<_>>().map(TcpOption::Sack),
                other => Some(TcpOption::Other(other.to_string())),
            };
            let Some(read) = read else {
                return self.unread(format!("an option {name} without its numbers"));
            };
            options.push(read);
        }
        Ok(Options::List(options))
    }
}

/// Reads `e1b 1 ceb 0 e0b 1`, in any order.
fn counters<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<[Option<u32>; 3]> {
    let mut counters = [None; 3];
    while let Some(name) = words.next() {
        let place = ["e1b", "ceb", "e0b"].iter().position(|known| *known == name)?;
        counters[place] = Some(words.next()?.parse().ok()?);
    }
    Some(counters)
}

fn block(text: &str) -> Option<(u64, u64)> {
    let (left, right) = text.split_once(':')?;
    let number = |text: &str| text.parse::<u32>().ok().map(u64::from);
    Some((number(left)?, number(right)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Event {
        let script = parse(text).unwrap_or_else(|e| panic!("{e:?}"));
        assert_eq!(script.events.len(), 1, "{script:?}");
        script.events[0].clone()
    }

    fn packet(text: &str) -> Packet {
        match one(text).action {
            Action::Packet(p) => p,
            other => panic!("{other:?}"),
        }
    }

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn times() {
        let when = |text: &str| one(&format!("{text} `true`")).when;
        let is = |base, from, to| When { base, from: ms(from), to: ms(to) };
        assert_eq!(when("0"), is(Base::Start, 0, 0));
        assert_eq!(when("1.5"), is(Base::Start, 1500, 1500));
        assert_eq!(when("+.002"), is(Base::Previous, 2, 2));
        assert_eq!(when("+1"), is(Base::Previous, 1000, 1000));
        assert_eq!(when("+.3~+.303"), is(Base::Previous, 300, 303));
        assert_eq!(when("1 ~ 2"), is(Base::Start, 1000, 2000));
        assert_eq!(when("+.002 ... 0.004"), is(Base::Previous, 2, 4));
        assert_eq!(when("+0...10"), is(Base::Previous, 0, 10_000));
        assert_eq!(when("*").base, Base::Any);
        let nanos = one("+0.0000000019 `true`").when.from;
        assert_eq!(nanos, Duration::from_nanos(1), "digits past a nanosecond");
    }

    #[test]
    fn packets() {
        let p = packet("+0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>");
        assert!(p.inbound && p.flags.syn && !p.flags.ack);
        assert_eq!((p.window, p.ack), (Some(32792), None));
        let Options::List(options) = p.options else { panic!("a list") };
        assert_eq!(options[0], TcpOption::Mss(1000));
        assert_eq!(options[5], TcpOption::WindowScale(7));

        let p = packet("+0 > [ect0] P. 1001:2001(1000) ack 7");
        assert_eq!((p.start, p.len, p.ack), (1001, 1000, Some(7)));
        assert_eq!(p.ecn, Some(EcnField::Is(Ecn::Ect0)));

        let p = packet("+0 < . 1:1(0) ack 1 win 9 <sack 3001:5001 7001:8001,nop,nop>");
        let sack = TcpOption::Sack(vec![(3001, 5001), (7001, 8001)]);
        assert_eq!(p.options, Options::List(vec![sack, TcpOption::Padding, TcpOption::Padding]));
        assert_eq!(packet("+0 > S. 0:0(0) ack 1 <...>").options, Options::Any);
        let p = packet("+0 > . 1:1(0) ack 1 <ECN e0b 7 ceb 2,nop>");
        let counters = TcpOption::AccEcn([None, Some(2), Some(7)]);
        assert_eq!(p.options, Options::List(vec![counters, TcpOption::Padding]));
    }

    /// A digit is the ACE field; letters are its bits one by one.
    #[test]
    fn flags() {
        let ecn = |text: &str| packet(&format!("+0 > {text} 1:1(0) ack 1")).flags.ecn;
        assert_eq!(ecn("."), 0);
        assert_eq!(ecn(".5"), 5);
        assert_eq!(ecn("P.7"), 7);
        assert_eq!(ecn("P5."), 5);
        assert_eq!(ecn("SEWA"), 0b111);
        assert_eq!(ecn("SW."), 0b010);
        assert_eq!(ecn("E."), 0b001);
    }

    #[test]
    fn calls_commands_and_code() {
        let text = "+.1 setsockopt(4, SOL_SOCKET, SO_SNDBUF, [200000], 4) = 0";
        let Action::Call(call) = one(text).action else { panic!("a call") };
        assert_eq!((call.name.as_str(), call.args.len()), ("setsockopt", 5));
        assert_eq!((call.args[3].as_str(), call.result.as_str()), ("[200000]", "0"));
        let text = "0 connect(3, {sa=\"a,)b\"}, ...) = -1 EINPROGRESS (Operation, now)";
        let Action::Call(call) = one(text).action else { panic!("a call") };
        assert_eq!((call.args.len(), call.result.as_str()), (3, "-1"));
        assert_eq!(one("`one\ntwo`").action, Action::Command("one\ntwo".into()));
        assert_eq!(one("+0 %{ a = 1 }%").action, Action::Code(" a = 1 ".into()));
    }

    #[test]
    fn comments_options_and_lines() {
        let text = "// one\n--tolerance_usecs=7000\n/* two\n three */ +0 `a` # four\n\n+1 `b`\n";
        let script = parse(text).expect("a script");
        assert_eq!(script.options[0].value, "7000");
        let lines: Vec<usize> = script.events.iter().map(|e| e.line).collect();
        assert_eq!(lines, [4, 6]);
    }

    #[test]
    fn what_is_not_read_has_a_line() {
        for (text, line, what) in [
            ("+0 > udp (10)", 1, "not TCP"),
            ("\n+0 < icmp unreachable [1:1(0)]", 2, "not TCP"),
            ("+0 > . 1:3(1) ack 1", 1, "length"),
            ("+0 > . 99999999999:1(0)", 1, "not TCP"),
            ("hello", 1, "no event"),
            ("+0 hello", 1, "no packet, call"),
            ("+0 f(1", 1, "call"),
            ("`open", 1, "a command without an end"),
            ("+0 < . 1:1(0) ack 1 urg 3", 1, "field"),
            ("+0 < . 1:1(0) <mss>", 1, "option mss"),
            ("+0 < . 1:1(0) <ECN e2b 1>", 1, "option ECN"),
            ("9999999 `a`", 1, "weeks"),
        ] {
            let unread = parse(text).expect_err(text);
            assert_eq!(unread.line, line, "{text}: {}", unread.what);
            assert!(unread.what.contains(what), "{text}: {}", unread.what);
        }
    }
}
