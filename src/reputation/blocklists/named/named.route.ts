/** GET /feeds/*: the named feeds in each form, made when somebody asks. */

import * as v from 'valibot';
import type { NoteMark } from '../../../access/marks.ts';
import { fail, ok, type Result } from '../../../core/result.ts';
import { digits, queryReader } from '../../../core/schema.ts';
import { negotiate, negotiatedHeaders } from '../../../http/answer/negotiate.ts';
import type { Request } from '../../../http/request/message.ts';
import { parseQuery } from '../../../http/request/query.ts';
import type { PlainRoute } from '../../../http/router.ts';
import { parseIp } from '../../../ip/address.ts';
import { endpoint } from '../../../web/guard/endpoint.ts';
import type { Guard, HandlerResult } from '../../../web/guard/guard.ts';
import { feedParameters, feeds } from '../feed-definitions.ts';
import { feedCacheControl, feedCors, feedExposed } from '../feeds.route.ts';
import type { NamedBuilds } from './builds.ts';
import type { Form } from './forms.ts';
import type { NamedFeed } from './named-feeds.ts';
import { formByExtension, forms, mispForm, routerPart } from './vendors.ts';

export const namedFeedEndpoint = endpoint({
  method: 'GET',
  path: '/feeds/*',
  who: 'anyone',
  shape: 'text',
  thread: 'main',
  limits: ['feeds'],
  headers: negotiatedHeaders,
  cors: feedCors,
  errors: ['not_found', 'invalid_parameter', 'overloaded'],
  docs: 'text',
});

const ofDetail = 'The of parameter must be the number that the script names.';
const partDetail = 'The part parameter must be a number from 1 to 999.';
const parameters = {
  mark: feedParameters.mark,
  of: v.optional(digits(/^\d{1,15}$/, ofDetail, 0)),
  part: v.optional(digits(/^\d{1,3}$/, partDetail, 1)),
};
const readParameters = queryReader(parameters);
/** The name and the extension of a file, or of a file in the feed's folder for MISP. */
const fileShape =
  /^([a-z][a-z0-9-]{0,40})(?:\.([a-z0-9-]{1,20})|\/misp\/([a-z0-9-]{1,40}\.(?:json|csv)))$/;

const gone = fail(
  'not_found',
  'There is no such part: the feed has changed, load its script again.',
);

export function namedFeedRoute(options: {
  readonly guard: Guard;
  readonly builds: NamedBuilds;
  readonly noteMark: NoteMark;
  /** Returns the feed of this name; undefined: there is none. */
  readonly find: (name: string) => Promise<NamedFeed | undefined>;
}): PlainRoute {
  const { guard, builds, noteMark } = options;
  const words = new Uint32Array(4);

  async function reply(request: Request): Promise<HandlerResult> {
    const [, name, extension, misp] = fileShape.exec(request.path.slice('/feeds/'.length)) ?? [];
    const feed = name === undefined ? undefined : await options.find(name);
    if (feed === undefined) {
      const names = [...feeds.map((one) => one.name), 'changes.json'].join(', ');
      return fail('not_found', `There is no such feed. There are: ${names}.`);
    }
    const form =
      misp === undefined ? ok(formByExtension.get(extension!)) : await mispOf(feed, misp);
    if (!form.ok) return form;
    if (form.value === undefined) {
      const known = forms.map((one) => one.extension).join(', ');
      return fail('not_found', `A feed has no such form. There are: ${known}.`);
    }
    const query = parseQuery(request.query);
    if (!query.ok) return query;
    const taken = extension === 'ros' ? ['mark', 'of', 'part'] : ['mark'];
    const unexpected = query.value.names.find((one) => !taken.includes(one));
    const asked = readParameters(query.value);
    const mark = query.value.get('mark');
    const note = unexpected === undefined ? '' : `query ${unexpected}`;
    if (mark !== undefined)
      noteMark(mark, { family: parseIp(request.clientIp, words), words }, note);
    if (unexpected !== undefined) {
      const detail = 'A named feed takes mark, nothing else: what it holds is part of its name.';
      return fail('invalid_parameter', detail, unexpected);
    }
    if (!asked.ok) return asked;
    const { of, part } = asked.value;
    const made = await (part === undefined
      ? builds.file(feed, form.value)
      : partOf(feed, part, of));
    if (!made.ok) return made;
    const { type, changedAtMs, identity, gzip } = made.value;
    return negotiate(request, {
      type,
      cacheControl: feedCacheControl,
      changedAtMs,
      identity,
      gzip,
      headers: [feedExposed],
      ranges: true,
    });
  }

  async function mispOf(feed: NamedFeed, file: string): Promise<Result<Form | undefined>> {
    const selected = await builds.selected(feed);
    return selected.ok ? ok(mispForm(selected.value, file)) : selected;
  }

  /** A part is of one state of the list: a script that began with another begins again. */
  async function partOf(feed: NamedFeed, part: number, of: number | undefined) {
    const selected = await builds.selected(feed);
    if (!selected.ok) return selected;
    const form = routerPart(selected.value, part);
    if (form === undefined) return gone;
    const made = await builds.file(feed, form);
    return made.ok && made.value.state !== of ? gone : made;
  }

  return guard.open(namedFeedEndpoint, reply);
}
