/**
 * Parameters of an API call, wherever a client put them: query, urlencoded form, multipart form
 * or JSON. A name that comes from two places, or twice from one, is refused.
 */

import { fail, ok, type Result } from '../core/result.ts';
import { decodeUtf8, mediaType, parseForm, parseJsonObject, parseMultipart } from '../http/body.ts';
import { firstHeader, type Request } from '../http/message.ts';
import { type Params, parseQuery } from '../http/query.ts';

export interface Fields {
  /** Text of a parameter; a JSON number as its text. Undefined if absent. */
  text(name: string): string | undefined;
  /** As JSON sent it, or text; arrays of a repeatable `name[]` too. */
  value(name: string): unknown;
  has(name: string): boolean;
}

/** Lists may come as `categories[]=18&categories[]=22`, the way PHP writes them. */
const repeatable = ['categories[]'];

/** The key in header, query or form, in this order; it never reaches a log. */
export function keyOf(request: Request, fields: Result<Fields>): string | undefined {
  const inHeader = firstHeader(request, 'key');
  if (inHeader !== undefined) return inHeader;
  if (fields.ok) return fields.value.text('key');
  // Whoever names himself in the query pays for a bad body, and learns what is wrong with it.
  const query = parseQuery(request.query, { repeatable });
  return query.ok ? query.value.get('key') : undefined;
}

/** The address has two names in the API. Both may come, if they say the same. */
export function addressIn(fields: Fields): Result<string | undefined> {
  const [ip, ipAddress] = [fields.text('ip'), fields.text('ipAddress')];
  if (ip !== undefined && ipAddress !== undefined && ip !== ipAddress) {
    return fail('invalid_parameter', 'The ip and the ipAddress must not differ.', 'ip');
  }
  return ok(ip ?? ipAddress);
}

export async function readFields(request: Request): Promise<Result<Fields>> {
  const values = new Map<string, unknown>();
  if (request.query !== '') {
    const query = parseQuery(request.query, { repeatable });
    if (!query.ok) return query;
    addParams(values, query.value);
  }
  const body = await readBody(request);
  if (!body.ok) return body;
  if (values.size === 0) return ok(fieldsOf(body.value));
  for (const [name, value] of body.value) {
    if (values.has(name)) {
      return fail('invalid_parameter', `The ${name} parameter is given more than once.`, name);
    }
    values.set(name, value);
  }
  return ok(fieldsOf(values));
}

function fieldsOf(values: ReadonlyMap<string, unknown>): Fields {
  return {
    has: (name) => values.has(name),
    value: (name) => values.get(name) ?? values.get(`${name}[]`),
    text(name) {
      const value = values.get(name);
      if (typeof value === 'string') return value;
      return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
    },
  };
}

function addParams(values: Map<string, unknown>, params: Params): void {
  for (const name of params.names) {
    values.set(name, repeatable.includes(name) ? params.all(name) : params.get(name));
  }
}

async function readBody(request: Request): Promise<Result<Map<string, unknown>>> {
  const values = new Map<string, unknown>();
  const contentType = firstHeader(request, 'content-type');
  if (request.body.length === 0) return ok(values);
  switch (mediaType(contentType)) {
    case 'json': {
      const json = parseJsonObject(request.body);
      if (!json.ok) return fail('invalid_parameter', json.detail, 'body');
      return ok(new Map(Object.entries(json.value)));
    }
    case 'multipart': {
      // Looked at here: the parser puts a mark where a text is none, and says nothing.
      if (decodeUtf8(request.body) === undefined) {
        return fail('invalid_parameter', 'The multipart form is not valid UTF-8.', 'body');
      }
      const parts = await parseMultipart(request.body, contentType!);
      if (!parts.ok) return fail('invalid_parameter', parts.detail, 'body');
      for (const { name, data } of parts.value) {
        const text = decodeUtf8(data);
        const isList = repeatable.includes(name);
        if (text === undefined || text.includes('\0') || (values.has(name) && !isList)) {
          return fail(
            'invalid_parameter',
            `The ${name.slice(0, 60)} parameter is invalid or given twice.`,
            'body',
          );
        }
        values.set(name, isList ? [...((values.get(name) as string[]) ?? []), text] : text);
      }
      return ok(values);
    }
    case 'form':
    case 'none': {
      const form = parseForm(request.body, { repeatable, charsMax: request.body.length });
      if (!form.ok) return fail('invalid_parameter', form.detail, form.parameter ?? 'body');
      addParams(values, form.value);
      return ok(values);
    }
    default:
      return fail('unsupported_media_type', 'Send a form, a multipart form or JSON.');
  }
}
