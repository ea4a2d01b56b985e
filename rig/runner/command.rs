//! Runs programs of the host.

#![expect(clippy::disallowed_types, reason = "the rig's job is to run other programs")]

use std::process::{Command, Stdio};

use super::error::{Result, RigError};

/// Runs a program with nothing to read and returns what it wrote.
pub(crate) fn output(tool: &str, arguments: &[&str]) -> Result<String> {
    let done = Command::new(tool)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|source| RigError::Start { tool: tool.to_owned(), source })?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    Err(RigError::Failed {
        command: format!("{tool} {}", arguments.join(" ")),
        status: done.status.to_string(),
        stderr: String::from_utf8_lossy(&done.stderr).trim().to_owned(),
    })
}

/// Runs a line in the host's shell, with `arguments` as `$1` and so on.
pub(crate) fn shell(line: &str, arguments: &[&str]) -> Result<String> {
    let fixed = ["-eu", "-c", line, "rig"];
    output("sh", &[&fixed, arguments].concat())
}

/// Where a program is, looking also where only root's search path goes.
pub(crate) fn locate(tool: &str) -> Result<String> {
    shell("PATH=$PATH:/usr/sbin:/sbin command -v \"$1\"", &[tool]).map(|path| path.trim().to_owned()).map_err(
        |_| RigError::Missing {
            what: format!("the program `{tool}`"),
            hint: "`rig/setup.sh` installs what the rig needs",
        },
    )
}
