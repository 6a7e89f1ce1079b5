/** What the samples of the documentation are run against: a server with demo data, or one without. */

import { issue, openBeside } from '../captcha/beside.ts';
import { demoEmail, startTestServer, type TestServer } from '../server/server.ts';
import { makeTempDir } from '../server/temp-dir.ts';
import { allow, createAgent, openPeople } from '../signon/visitor.ts';
import { publishedAt } from './doc-samples.ts';

/** Of the person who signs in to the samples' sites. */
export const sampleEmail = 'ada@mail.example';

export interface SampleService extends AsyncDisposable {
  readonly server: TestServer;
  /** To write files into. */
  readonly folder: string;
  /** A sample as the server's own page shows it. */
  published(code: string): string;
  /** Of a challenge that was solved on https://shop.example. */
  newReceipt(): Promise<string>;
  /** The visitor agrees to what an address of /authorize.php asks for. @returns the way back */
  agreed(address: string): Promise<URL>;
}

export async function openSampleService(demo: boolean): Promise<SampleService> {
  // The gate's sample names a visitor, as a proxy does.
  const env = { CLIENT_LIMITS: 'off', TRUSTED_PROXIES: '127.0.0.1' };
  const server = await startTestServer({ threads: 1, demo, withKey: true, env });
  const people = openPeople(server);
  await people.add(sampleEmail, { givenName: 'Ada', familyName: 'Lovelace', nickname: 'countess' });
  const folder = makeTempDir('samples');
  const site = await server.cliJson('sitekey', 'create', demoEmail, '--host', 'shop.example');
  return {
    server,
    folder: folder.path,
    published: (code) => publishedAt(server.baseUrl, code),
    newReceipt() {
      const beside = openBeside(server.dataDir);
      return issue(beside.receipts, site.id).finally(() => beside.store.close());
    },
    async agreed(address) {
      const { pathname, search } = new URL(address);
      const person = createAgent(server, await people.signIn(sampleEmail));
      return allow(person, `${pathname}${search}&prompt=consent`);
    },
    async [Symbol.asyncDispose]() {
      await people[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      folder.remove();
    },
  };
}
