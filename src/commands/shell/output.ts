/** A command prints lines for people, or one JSON object with `--json`. */

export interface Output {
  readonly json: boolean;
  /** A line on standard output; nothing with `--json`. */
  line(text: string): void;
  /** The command's result; printed with `--json` only. */
  result(value: unknown): void;
}

export function createOutput(
  json: boolean,
  write = (text: string) => process.stdout.write(text),
): Output {
  return {
    json,
    line(text) {
      if (!json) write(`${text}\n`);
    },
    result(value) {
      if (json) write(`${JSON.stringify(value)}\n`);
    },
  };
}
