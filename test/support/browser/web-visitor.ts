/**
 * A browser without a script, for flows through forms: keeps cookies, fills in a form of the page
 * it has before it, sends the headers that a browser sends. Does not follow redirects by itself.
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { solveGif } from '../captcha/solver.ts';
import { type Answer, type TestServer, within } from '../server/server.ts';
import { consentFormIn } from '../signon/visitor.ts';

type FormFields = Readonly<Record<string, string>>;

export interface WebVisitor {
  readonly cookies: Map<string, string>;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** A POST as a form of a page of ours would send it. */
  post(path: string, body: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /**
   * Fills in the form of this action on the page, hidden fields included, and sends it where it says. A redirect
   * is followed to the page first.
   */
  submit(page: Answer, action: string, fields?: FormFields): Promise<Answer>;
  /**
   * Solves the challenge on `/register` and sends the form; tries again when it misreads.
   * @param path with a query, if there is something to come back to
   */
  register(email: string, password: string, path?: string): Promise<Answer>;
  /** The same with these fields: `with=passkey` in place of a password. */
  registerWith(fields: FormFields, path?: string): Promise<Answer>;
  signIn(email: string, password: string): Promise<Answer>;
}

/** The solver misreads one in ten. */
const solvingAttempts = 8;

export function webVisitor(server: TestServer, more: Readonly<Record<string, string>> = {}) {
  const cookies = new Map<string, string>();
  const origin = more.Host === undefined ? server.baseUrl : `http://${more.Host}`;

  async function send(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body?: string,
  ): Promise<Answer> {
    const sent = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await server.fetch(path, {
      method,
      headers: { ...(sent === '' ? {} : { Cookie: sent }), ...more, ...headers },
      ...(body === undefined ? {} : { body }),
    });
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      if (/Max-Age=0/.test(line)) cookies.delete(name!);
      else cookies.set(name!, value!);
    }
    return answer;
  }

  const visitor: WebVisitor = {
    cookies,
    get: (path, headers = {}) => send('GET', path, headers),
    post: (path, body, headers = {}) =>
      send(
        'POST',
        path,
        {
          'Content-Type': 'application/x-www-form-urlencoded',
          Origin: origin,
          'Sec-Fetch-Site': 'same-origin',
          ...headers,
        },
        body,
      ),
    async submit(page, action, fields = {}) {
      const shown = page.status === 303 ? await visitor.get(page.headers.location!) : page;
      const forms = shown.body.match(/<form[^>]*>/g) ?? [];
      const whole = forms.map(actionOf).find((one) => one.split('?', 1)[0] === action) ?? action;
      const body = new URLSearchParams({ ...hiddenOf(shown, action), ...fields });
      return visitor.post(whole, body.toString());
    },
    register: (email, password, path) => visitor.registerWith({ email, password }, path),
    async registerWith(fields, path = '/register') {
      for (let i = 0; i < solvingAttempts; i++) {
        const page = await visitor.get(path);
        assert.equal(page.status, 200, page.body);
        const { captcha_token: token } = hiddenOf(page, '/register');
        const picture = await server.fetch(`/captcha/img/${token}.gif`);
        const { word } = solveGif(new Uint8Array(picture.bytes));
        const solved = { ...fields, captcha_answer: word };
        const answer = await visitor.submit(page, '/register', solved);
        if (answer.status !== 422 || !answer.body.includes('captcha-answer-error')) return answer;
      }
      throw new Error('no challenge was solved');
    },
    async signIn(email, password) {
      // The link of a registration signed in already.
      for (const name of [...cookies.keys()]) if (/(^|-)session$/.test(name)) cookies.delete(name);
      const page = await visitor.get('/signin');
      return visitor.submit(page, '/signin', { email, password });
    },
  };
  return visitor;
}

/** Allows what the consent page asks for, and gives the address with the code. */
export async function allowOn(visitor: WebVisitor, page: Answer): Promise<URL> {
  const { id, csrf, shown, scopes } = consentFormIn(page);
  const body = new URLSearchParams({ id, csrf, shown, decision: 'allow' });
  for (const scope of scopes) body.append('scope', scope);
  const allowed = await visitor.post('/authorize.php/consent', body.toString());
  return new URL(allowed.headers.location!);
}

/** Where the first form of the markup goes, with its query. */
function actionOf(markup: string): string {
  return (/<form[^>]* action="([^"]*)"/.exec(markup)?.[1] ?? '').replaceAll('&amp;', '&');
}

/** Hidden fields of the form with this action. Fails when there is no such form. */
export function hiddenOf(page: Answer, action: string): Record<string, string> {
  const forms = page.body.match(/<form[^>]*>.*?<\/form>/gs) ?? [];
  const form = forms.find((text) => actionOf(text).split('?', 1)[0] === action);
  assert.ok(form, `no form for ${action} in ${page.status} ${page.body.slice(-2_000)}`);
  const fields: Record<string, string> = {};
  for (const [input] of form.matchAll(/<input type="hidden"[^>]*>/g)) {
    const name = /name="([^"]*)"/.exec(input)![1]!;
    fields[name] = /value="([^"]*)"/.exec(input)?.[1] ?? '';
  }
  return fields;
}

/** Text of all mails in the outbox, oldest first, soft line breaks of quoted-printable undone. */
export function mailsIn(server: TestServer): string[] {
  const folder = `${server.dataDir}/outbox`;
  let names: string[];
  try {
    // One that begins with a dot is not whole yet, and gets another name at any moment.
    names = readdirSync(folder).filter((name) => /^[^.].*\.eml$/.test(name));
  } catch {
    return [];
  }
  const timeOf = (name: string) => name.slice(name.indexOf('-') + 1);
  names.sort((a, b) => (timeOf(a) < timeOf(b) ? -1 : 1));
  return names.map((name) =>
    readFileSync(`${folder}/${name}`, 'utf8')
      .replace(/=\r?\n/g, '')
      .replaceAll('=3D', '='),
  );
}

/** The link of the newest mail to this address whose link has this path; waits for it. */
export async function mailedLink(server: TestServer, to: string, path: string): Promise<URL> {
  const find = () => {
    for (const mail of mailsIn(server).reverse()) {
      if (!mail.includes(`To: ${to}`)) continue;
      const link = /https?:\/\/\S+/.exec(mail)?.[0];
      if (link !== undefined && new URL(link).pathname === path) return new URL(link);
    }
    return undefined;
  };
  await within(() => find() !== undefined, `a mail to ${to} with ${path}`);
  return find()!;
}
