/**
 * Statements that an edge may name. It never sends one: the core has its own text under the name, so that
 * who can speak for an edge still can't ask the database for anything else.
 */

const texts = new Map<string, string>();

/** @throws RangeError when two statements have one name */
export function relayable(
  name: string,
  text: string,
): { readonly name: string; readonly text: string } {
  if (texts.has(name)) throw new RangeError(`two statements are called ${name}`);
  texts.set(name, text);
  return { name, text };
}

export const statementText = (name: string) => texts.get(name);
