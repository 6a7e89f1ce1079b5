/** Requests of the API that see each documented status; the report of 9.9.9.9 is the first one of it. */

import type { FetchOptions } from './server.ts';

const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
const json = { 'Content-Type': 'application/json' };
const asJson = { Accept: 'application/json' };
const long = 'x'.repeat(9_000);

export interface Try extends FetchOptions {
  readonly path: string;
  readonly status: number;
}

function csv(rows: string): Pick<FetchOptions, 'body' | 'headers'> {
  return {
    headers: { 'Content-Type': 'multipart/form-data; boundary=b' },
    body: `--b\r\nContent-Disposition: form-data; name="csv"; filename="a"\r\n\r\n${rows}\r\n--b--\r\n`,
  };
}

/** @param key of an account that may check and report */
export function apiTries(key: string): Try[] {
  const post = (path: string, status: number, body: string, headers: object = {}): Try => ({
    path,
    status,
    method: 'POST',
    body,
    headers: { Key: key, ...form, ...headers },
  });
  const get = (path: string, status = 200, headers: object = {}): Try => ({
    path,
    status,
    headers: { ...headers },
  });
  const keyed = (path: string, status = 200): Try => get(path, status, { Key: key });
  const api = '/api/v2';
  const check = `${api}/check?ipAddress=198.51.100.7`;
  const report = 'ip=9.9.9.9&categories=18&comment=seen';
  return [
    post(`${api}/report`, 200, report),
    post(`${api}/report`, 429, report),
    keyed(check),
    keyed(`${check}&maxAgeInDays=30`),
    keyed(`${api}/check?ipAddress=9.9.9.9&verbose`),
    get(check, 401),
    keyed(`${api}/check?ipAddress=x`, 422),
    keyed(`${check}&verbose&maxAgeInDays=0`, 422),
    post(`${api}/check-bulk`, 200, '["8.8.8.8","x"]', json),
    post(`${api}/check-bulk`, 200, '8.8.8.8\nx\n', { 'Content-Type': 'text/plain' }),
    post(`${api}/check-bulk?family=4`, 200, 'four', { 'Content-Type': 'application/octet-stream' }),
    post(`${api}/check-bulk`, 401, '8.8.8.8', { Key: 'x' }),
    post(`${api}/check-bulk`, 413, 'x'.repeat(700_000)),
    post(`${api}/check-bulk`, 422, '[1]', json),
    keyed(`${api}/reports?ipAddress=9.9.9.9&perPage=1`),
    get(`${api}/reports?ipAddress=9.9.9.9`, 401),
    keyed(`${api}/reports?ipAddress=9.9.9.9&page=0`, 422),
    keyed(`${api}/blacklist?confidenceMinimum=25`),
    keyed(`${api}/blacklist?plaintext`),
    get(`${api}/blacklist`, 401),
    keyed(`${api}/blacklist?limit=0`, 422),
    keyed(`${api}/check-block?network=9.9.9.0/24`),
    keyed(`${api}/check-block?network=2001:db8::/48`),
    keyed(`${api}/check-block?network=9.0.0.0/8`, 402),
    get(`${api}/check-block?network=9.9.9.0/24`, 401),
    keyed(`${api}/check-block?network=x`, 422),
    post(`${api}/report`, 401, report, { Key: 'x' }),
    post(`${api}/report`, 413, long + long),
    post(`${api}/report`, 415, report, { 'Content-Type': 'text/html' }),
    post(`${api}/report`, 422, 'ip=x&categories=18'),
    { path: `${api}/bulk-report`, method: 'POST', status: 401, ...csv('8.8.4.4,18') },
    ...[
      { status: 200, ...csv('8.8.4.4,18\nx,1') },
      { status: 413, ...csv('x\n'.repeat(4_300_000)) },
      { status: 415, headers: json, body: '{}' },
      { status: 422, ...csv('IP,Nothing') },
    ].map((each) => ({
      ...each,
      path: `${api}/bulk-report`,
      method: 'POST',
      headers: { ...each.headers, Key: key },
    })),
    ...[
      [200, 'ipAddress=9.9.9.9', form],
      [401, 'ipAddress=9.9.9.9', { ...form, Key: 'x' }],
      [413, long, form],
      [415, 'x', { 'Content-Type': 'text/html' }],
      [422, 'ipAddress=x', form],
    ].map(([status, body, headers]) => ({
      ...post(`${api}/clear-address`, Number(status), String(body), {
        ...(headers as object),
        'Content-Length': String(String(body).length),
      }),
      method: 'DELETE',
    })),
    ...['/ip/8.8.8.8', '/as/13335'].flatMap((path) => [get(path), get(path, 200, asJson)]),
    ...['/ip/x', '/as/x'].map((path) => get(path, 422, asJson)),
    get('/as/1.1.1.1', 303),
    get('/as/192.0.2.1', 404),
  ];
}
