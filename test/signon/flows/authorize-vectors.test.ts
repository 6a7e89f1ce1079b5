/**
 * Every client and redirect address of the vectors, asked for on the whole server: a refusal is a
 * 400 page of our own without a way there, whoever asks; what is accepted goes on.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { type Answer, startTestServer, type TestServer } from '../../support/server/server.ts';
import { intranetSuffixes } from '../../support/signon/client-site.ts';
import {
  authorizePath,
  createAgent,
  openPeople,
  type People,
} from '../../support/signon/visitor.ts';

const modes = {
  plain: { demo: false, env: {} },
  demo: { demo: true, env: {} },
  intranet: { demo: false, env: { CLIENT_SUFFIXES: intranetSuffixes } },
};
type Mode = keyof typeof modes;

interface Vector {
  readonly line: string;
  readonly path: string;
  readonly accepted: boolean;
  readonly mode: Mode;
}

const vectors: readonly Vector[] = readFileSync('test/vectors/redirect-uri.txt', 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => {
    const [outcome = '', clientJson = '', uriJson] = line.split('\t');
    const client = JSON.parse(clientJson) as string;
    // A client is tried with an address that would be its own.
    const uri = uriJson === undefined ? `https://${client}/cb` : (JSON.parse(uriJson) as string);
    return {
      line: line.slice(0, 160),
      path: authorizePath({ client_id: wellFormed(client), redirect_uri: wellFormed(uri) }),
      accepted: /^(intranet-)?client$|accept$/.test(outcome),
      mode: (/demo|intranet/.exec(outcome)?.[0] ?? 'plain') as Mode,
    };
  });

/** A lone surrogate can't be sent at all. */
function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd');
}

function problemOf(answer: Answer, accepted: boolean): string | undefined {
  const { status, headers, body } = answer;
  if (accepted) return status === 303 ? undefined : `status ${status}`;
  if (status !== 400) return `status ${status}`;
  if (headers.location !== undefined) return 'has a Location';
  const main = body.slice(body.indexOf('<main'), body.indexOf('</main>'));
  if (/<(form|img|meta|script|iframe)\b/.test(main)) return 'has something to follow';
  const links = main.match(/<a\b[^>]*>/g) ?? [];
  if (links.length !== 1 || !links[0]!.includes(' href="/"')) return 'leads elsewhere than home';
  return headers['set-cookie']?.some((line) => line.includes('evil')) ? 'sets a cookie' : undefined;
}

describe('authorize vectors', () => {
  for (const mode of Object.keys(modes) as Mode[]) {
    describe(mode, () => {
      let server: TestServer;
      let people: People;
      before(async () => {
        const { demo, env } = modes[mode];
        server = await startTestServer({ demo, env: { CLIENT_LIMITS: 'off', ...env } });
        people = openPeople(server);
        await people.add('ada@mail.example');
      });
      after(async () => {
        await people[Symbol.asyncDispose]();
        await server[Symbol.asyncDispose]();
      });

      it('each has its outcome for a stranger and for somebody signed in', async () => {
        const chosen = vectors.filter((vector) => vector.mode === mode);
        assert.ok(chosen.length > (mode === 'plain' ? 250 : 5), `${chosen.length} vectors`);
        const stranger = createAgent(server);
        const person = createAgent(server, await people.signIn('ada@mail.example'));
        const wrong: string[] = [];
        for (const { line, path, accepted } of chosen) {
          const first = problemOf(await stranger.get(path), accepted);
          if (first !== undefined) wrong.push(`${first}: ${line}`);
          const answer = await person.get(path);
          const second = accepted
            ? answer.status === 200
              ? undefined
              : `status ${answer.status}`
            : problemOf(answer, false);
          if (second !== undefined) wrong.push(`signed in, ${second}: ${line}`);
        }
        assert.deepEqual(wrong, []);
      });
    });
  }
});
