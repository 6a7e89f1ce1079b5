/** A command prints lines for people, or one JSON object with `--json`. */

export function createOutput(
  json: boolean,
  write = (text: string): unknown => process.stdout.write(text),
) {
  return {
    json,
    /** Writes a line to standard output; nothing with `--json`. */
    line(text: string): void {
      if (!json) write(`${text}\n`);
    },
    /** Writes the command's result; with `--json` only. */
    result(value: unknown): void {
      if (json) write(`${JSON.stringify(value)}\n`);
    },
  };
}

export type Output = ReturnType<typeof createOutput>;
