/** A screen of /connect as a stranger's browser shows it: its texts, carried out as they stand there. */

import assert from 'node:assert/strict';
import { type TestServer, within } from '../server/server.ts';
import { type Agent, createAgent } from '../signon/visitor.ts';
import { type Machine, openMachine } from './paste.ts';

interface ConnectScreen extends Machine {
  /** The text of a step. */
  code(id: string): string;
  /** As the page's script asks. */
  requests(): Promise<number>;
  /** Waits for it. */
  isSeen(): Promise<void>;
  /** Waits until a request came that says only that this machine itself visited. */
  isSeenFromHere(): Promise<void>;
}

const entities: Readonly<Record<string, string>> = {
  quot: '"',
  amp: '&',
  lt: '<',
  gt: '>',
  '#39': "'",
};

function textOf(markup: string): string {
  // Chosen values are marked, and long starts of lines set apart.
  return markup
    .replace(/<\/?(?:mark|span)\b[^>]*>/g, '')
    .replace(/&(quot|amp|lt|gt|#39);/g, (_, name: string) => entities[name]!);
}

export async function openConnectScreen(
  server: TestServer,
  name: string,
  options: { network?: boolean; query?: string; reader?: Pick<Agent, 'get'> } = {},
): Promise<ConnectScreen> {
  const { network = false, query = '', reader = createAgent(server) } = options;
  const { status, body } = await reader.get(`/connect/${name}${query}`);
  assert.equal(status, 200);
  const snippets = [
    ...body.matchAll(
      /<figcaption><span>([^<]*)<\/span>[\s\S]*?<code id="([^"]+)">([\s\S]*?)<\/code>/g,
    ),
  ].map(([, title, id, code]) => ({
    id: id!,
    destination: title!.startsWith('/') ? { file: title! } : ('shell' as const),
    code: textOf(code!),
  }));
  const machine = await openMachine(`${server.baseUrl}/feeds`, { network, snippets });
  const look = async () => {
    const answer = await reader.get(`/connect/seen/${name}`);
    assert.equal(answer.status, 200);
    return JSON.parse(answer.body) as { requests: number; note?: { name: string } };
  };
  const requests = async () => (await look()).requests;
  return {
    ...machine,
    code(id) {
      const found = snippets.find((one) => one.id === id);
      assert.ok(found, `${name}: ${id}`);
      return found.code;
    },
    requests,
    isSeen: () => within(async () => (await requests()) > 0, `${name} is seen`),
    isSeenFromHere: () =>
      within(async () => (await look()).note?.name === 'loopback', `${name} is seen from here`),
  };
}
