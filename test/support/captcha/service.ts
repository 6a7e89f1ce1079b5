/**
 * A CAPTCHA service for tests of the widget: the real challenges, receipts, widget and receipt
 * routes on the real transport, with one known picture and clip for all. What a test needs to
 * know of a service is `CaptchaService`; a whole server can stand in its place.
 */

import { withCorsHeaders } from '../../../src/captcha/challenge/challenge.route.ts';
import { captchaWidgetRoutes } from '../../../src/captcha/page/captcha-page.route.ts';
import { createMotionRenderer } from '../../../src/captcha/picture/motion-scene.ts';
import { captchaReceiptRoutes } from '../../../src/captcha/receipt.route.ts';
import { createReceipts } from '../../../src/captcha/receipts.ts';
import { createWork } from '../../../src/captcha/work/work.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { createLog } from '../../../src/core/log.ts';
import { systemRandom } from '../../../src/core/random.ts';
import { ok, type Result } from '../../../src/core/result.ts';
import {
  firstHeader,
  type Header,
  type Reply,
  type Request,
} from '../../../src/http/request/message.ts';
import type { PlainRoute } from '../../../src/http/router.ts';
import { createServer } from '../../../src/http/server.ts';
import { readFields } from '../../../src/web/guard/intake/form.ts';
import { guardOf } from '../server/guard.ts';
import { createMemoryStore } from '../server/memory-store.ts';
import { challengesOver, networkAt, rendered } from './challenges.ts';
import { outlines, seeds } from './frames.ts';

/** What a site and its visitor need. */
export interface CaptchaService {
  readonly origin: string;
  /** For pages on any host. */
  readonly siteKey: string;
  readonly apiKey: string;
}

interface TestCaptchaService extends CaptchaService, AsyncDisposable {
  readonly answers: { readonly img: string; readonly audio: string };
  /** A site key that no page on a loopback address may use. */
  readonly foreignSiteKey: string;
  /** `method path` of every request that was answered, tokens left out. */
  readonly asked: string[];
  /** Statuses to answer with instead, by the path's last folder: `start`, `img`, `audio`, `verify`. */
  readonly refuse: Map<string, number>;
  /** Work in place of pictures, for those who can. */
  isSilent: boolean;
}

const lifetimeMs = 120_000;
const openSite = 'pcs_open';
const closedSite = 'pcs_closed';
const apiKey = 'pcl_of_the_test';

/** Half a second of silence, 8 kHz, 8 bits. */
function silence(): Uint8Array {
  const samples = 4_000;
  const wav = Buffer.alloc(44 + samples, 0x80);
  wav.write('RIFF', 0);
  wav.writeUInt32LE(36 + samples, 4);
  wav.write('WAVEfmt ', 8);
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(8_000, 24);
  wav.writeUInt32LE(8_000, 28);
  wav.writeUInt16LE(1, 32);
  wav.writeUInt16LE(8, 34);
  wav.write('data', 36);
  wav.writeUInt32LE(samples, 40);
  return wav;
}

const noStore: Header = ['Cache-Control', 'no-store'];

function json(value: object): Reply {
  const headers: Header[] = [['Content-Type', 'application/json'], noStore];
  return { status: 200, headers, body: JSON.stringify(value) };
}

function media(type: string, made: Result<Uint8Array>): Reply {
  if (!made.ok) return { status: 404, headers: [noStore] };
  return { status: 200, headers: [['Content-Type', type], noStore], body: made.value };
}

export async function startCaptchaService(): Promise<TestCaptchaService> {
  const clock = systemClock();
  const random = systemRandom();
  const image = createMotionRenderer(outlines)('default', seeds(1, 1)[0]!);
  const clip = { answer: '314159', wav: silence() as Uint8Array<ArrayBuffer> };
  const pool = {
    image: async () => ok(rendered(image.answer, image.gif)),
    clip: async () => ok(rendered(clip.answer, clip.wav)),
  };
  const challenges = challengesOver(pool, { clock, random, heldBytesMax: 10_000_000 });
  const networks = networkAt(1);
  const visitor = { networks, longWord: false };
  const keys = [random.bytes(32), random.bytes(32)] as const;
  const works = createWork({ store: createMemoryStore(), clock, random, keys, lifetimeMs });
  const task = { site: '', networks, origin: '', action: '', score: 0, triesMax: 3 };
  const receipts = createReceipts({
    store: createMemoryStore(),
    clock,
    random,
    signingKey: random.bytes(32),
    site: async (id) =>
      id === openSite || id === closedSite
        ? { id, account: 'owner', passesClean: false, least: 'silent' as const }
        : undefined,
    sitesOf: async () => [],
    work: { open: () => undefined },
    allows: (site) => site.id === openSite,
  });
  const asked: string[] = [];
  const refuse = new Map<string, number>();

  function route(
    method: 'GET' | 'POST',
    path: string,
    handle: (request: Request) => Reply | Promise<Reply>,
  ): PlainRoute {
    const name = path.split('/')[2]!;
    return {
      kind: 'plain',
      method,
      path,
      headers: ['origin', 'content-type'],
      bodyBytesMax: method === 'POST' ? 4_096 : 0,
      cors: { allowHeaders: ['Content-Type'] },
      handle(request) {
        const status = refuse.get(name);
        asked.push(`${method} ${name}`);
        const refused = { status: status ?? 0, headers: [noStore], body: '' };
        const reply = status === undefined ? handle(request) : refused;
        return reply instanceof Promise
          ? reply.then((made) => withCorsHeaders(request, made))
          : withCorsHeaders(request, reply);
      },
    };
  }

  async function verify(request: Request): Promise<Reply> {
    const fields = await readFields(request);
    const text = (name: string) => (fields.ok ? fields.value.text(name) : undefined);
    if (!challenges.verify(text('token') ?? '', text('answer') ?? '', networks))
      return json({ ok: false });
    const origin = firstHeader(request, 'origin');
    const receipt = await receipts.issue({
      siteKey: text('sitekey'),
      origin,
      action: text('action') ?? '',
      level: 'easy',
    });
    return json({ ok: true, receipt });
  }

  async function judgeWork(request: Request): Promise<Reply> {
    const fields = await readFields(request);
    const text = (name: string) => (fields.ok ? fields.value.text(name) : undefined);
    const solved = works.open(text('work') ?? '', networks);
    if (solved === undefined) return json({ ok: false });
    const by = { siteKey: text('sitekey'), origin: firstHeader(request, 'origin') };
    const receipt = await receipts.issue({ ...by, action: text('action') ?? '', level: 'silent' });
    return json({ ok: true, receipt });
  }

  const quotas = { limit: 1_000, remaining: 999, resetSecond: 0, retryAfterSeconds: 0 };
  const quotaGuard = {
    authenticate: (key: string | undefined) => (key === apiKey ? 0 : -1),
    spend: () => true,
    noteRefused: () => {},
    quotas: { ...quotas, countedAtMs: 0, take: () => true },
  };
  const guard = guardOf({ quotaGuard });
  const server = createServer({
    routes: [
      route('POST', '/captcha/work', judgeWork),
      route('GET', '/captcha/start', async ({ query }) => {
        if (made.isSilent && !query.includes('picture=1')) {
          const work = await works.make(task);
          return json({ level: 'silent', work: work.ok && work.value, expires_in: 120 });
        }
        const token = challenges.issue({ longWord: false });
        const [img, audio] = [`/captcha/img/${token}.gif`, `/captcha/audio/${token}.wav`];
        return json({ level: 'easy', token, img, audio, expires_in: lifetimeMs / 1_000 });
      }),
      route('GET', '/captcha/img/:token', async (request) =>
        media('image/gif', await challenges.image(request.param.replace('.gif', ''), visitor)),
      ),
      route('GET', '/captcha/audio/:token', async (request) =>
        media(
          'audio/wav',
          await challenges.clip(request.param.replace(/(\.fr)?\.wav$/, ''), visitor),
        ),
      ),
      route('POST', '/captcha/verify', verify),
      ...captchaWidgetRoutes(guard),
      ...captchaReceiptRoutes({
        quotaGuard,
        guard,
        receipts,
        callers: { abuseScoreOf: () => 0 },
        accountOf: () => 'owner',
      }),
    ],
    renderProblem: ({ status }) => ({ status, headers: [] }),
    addresses: { hasProxies: false, isTrusted: () => false, normalise: (text) => text },
    clock,
    log: createLog('silent'),
  });
  const port = await server.listen('127.0.0.1', 0);
  const made: TestCaptchaService = {
    isSilent: false,
    origin: `http://127.0.0.1:${port}`,
    siteKey: openSite,
    foreignSiteKey: closedSite,
    apiKey,
    answers: { img: image.answer, audio: clip.answer },
    asked,
    refuse,
    [Symbol.asyncDispose]: async () => server.closeNow(),
  };
  return made;
}
