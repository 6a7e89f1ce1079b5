/** Names the person who runs a command, for the audit log. */

import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { processEnvironment } from '../config/place.ts';

const nameCharsMax = 120;

/**
 * `name (real uid)`, and who used sudo for it. Anybody can set SUDO_USER, so the uid that the
 * kernel keeps since the login stands next to it.
 */
export function operatorName(): string {
  const sudo = processEnvironment()
    .SUDO_USER?.slice(0, 40)
    .replace(/[\p{C}\s]/gu, '?');
  const behind = sudo === undefined ? '' : ` by sudo of ${sudo} (login uid ${loginUid()})`;
  const uid = process.getuid?.() ?? 'unknown';
  try {
    return `${userInfo().username} (${uid})${behind}`.slice(0, nameCharsMax);
  } catch {
    // A container's user may have no name.
    return `(${uid})${behind}`.slice(0, nameCharsMax);
  }
}

/** None is kept in a container, or for what no login started. */
function loginUid(): string {
  try {
    const uid = readFileSync('/proc/self/loginuid', 'latin1').trim();
    return /^\d+$/.test(uid) && uid !== '4294967295' ? uid : 'unknown';
  } catch {
    return 'unknown';
  }
}
