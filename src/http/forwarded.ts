/**
 * Reads `Forwarded` (RFC 7239) by the letter: the node of each element's `for`, from left to right. A line
 * that breaks the grammar names nobody, for a quote that a client leaves open could swallow what a
 * proxy wrote behind it.
 */

/** Pairs are matched one by one; no two parts of it can take the same character, so it is linear. */
const pair =
  /[ \t]*(?:([!#$%&'*+.^_`|~\w-]+)=([!#$%&'*+.^_`|~\w-]+|"(?:[\t !#-[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*")[ \t]*)?([;,]|$)/y;

const ipv4 = /^([0-9.]{7,15})(?::(?:[0-9]{1,5}|_[\w.-]+))?$/;
const ipv6 = /^\[([0-9A-Fa-f]*:[0-9A-Fa-f:.]{1,44})\](?::(?:[0-9]{1,5}|_[\w.-]+))?$/;

/**
 * Returns what each element's `for` says as a bare address, which nobody has checked yet; undefined stands
 * for an element without one, `unknown`, and a name that hides the address.
 * @returns undefined for a line that breaks the grammar
 */
export function readForwarded(line: string): (string | undefined)[] | undefined {
  const nodes: (string | undefined)[] = [];
  let names: string[] = [];
  let node: string | undefined;
  pair.lastIndex = 0;
  for (;;) {
    const found = pair.exec(line);
    if (found === null) return undefined;
    const [, name, value, end] = found;
    if (name !== undefined) {
      const lower = name.toLowerCase();
      if (names.includes(lower)) return undefined;
      names.push(lower);
      if (lower === 'for') node = addressIn(value!);
    }
    if (end === ';') continue;
    // A list may have empty elements, which say nothing.
    if (names.length > 0) nodes.push(node);
    if (end === '') return nodes;
    names = [];
    node = undefined;
  }
}

/** A colon or a bracket stands in quotes alone. */
function addressIn(value: string): string | undefined {
  const text = value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value;
  return (ipv4.exec(text) ?? ipv6.exec(text))?.[1];
}
