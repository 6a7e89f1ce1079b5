/** A password for a command, from standard input. */

/** More than any password, with room for a line end. */
const inputBytesMax = 4_096;

/** First line of standard input. Undefined when it is longer than any password. */
export async function readPassword(input: AsyncIterable<Uint8Array>): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of input) {
    length += chunk.length;
    if (length > inputBytesMax) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8').split(/\r?\n/, 1)[0] ?? '';
}
