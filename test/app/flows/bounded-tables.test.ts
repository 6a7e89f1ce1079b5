/** Every bounded table of a running server stands at /metrics, those of all front-end threads too. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { tableLabel } from '../../../src/console/service/system.page.tsx';
import { frameText } from '../../../src/console/words.ts';
import type { PageFrame } from '../../../src/web/layout/layout.tsx';
import { metric, startTestServer, threadCounts, within } from '../../support/server/server.ts';
import { isShared } from '../../support/server/shared-store.ts';

/** By their labels. */
const tables = [
  ...[
    'accounts',
    'keys',
    'entries',
    'contributions',
    'lists',
    'allow_rules',
    'own_entries',
    'feed_entries',
    'named_feeds',
    'named_feed_queue',
    'named_feed_bytes',
  ],
  ...['in_flight', 'probes', 'arriving_bodies', 'unread_answers', 'unread_bytes'],
  ...[
    'refused_bodies',
    'body_bytes',
    'front_end_client_limits',
    'first_requests',
    'store_queue',
    'store_queue_bytes',
    'budgets_told',
    'picture_queue',
  ],
  ...[
    'password_strength_queue',
    'passkey_queue',
    'report_walks',
    'blacklist_queue',
    'federation_snapshots',
    'bulk_reports',
  ],
  ...['address_pages', 'address_pages_bytes'],
  ...['captcha_open', 'captcha_tokens', 'captcha_bytes', 'captcha_waiting', 'captcha_browsers'],
  ...['sign_in_pairs', 'sign_in_accounts', 'sign_in_second_factors', 'sign_in_networks'],
  ...['sign_in_wide_networks', 'sign_in_browsers', 'sign_in_vouched', 'sign_in_link_limits'],
  ...['password_queue_known', 'password_queue_open', 'text_limits', 'mail_limits'],
  ...['account_changes', 'email_change_limits', 'registration_networks', 'client_limits'],
  ...[
    'mails',
    ...(isShared ? [] : ['outbox_files', 'report_guards']),
    'sign_in_log',
    'pending_account',
    'verify_link',
    'reset_link',
  ],
];
const slow = 24;

for (const threads of threadCounts) {
  describe(`bounded tables, ${threads} threads`, () => {
    it('each is there with its bound, and bodies that arrive in any thread are counted', async () => {
      await using server = await startTestServer({ threads, demo: false });
      const [used, limit] = await Promise.all([
        metric(server, 'portcullis_table_used'),
        metric(server, 'portcullis_table_limit'),
      ]);
      for (const name of tables) {
        const label = `table="${name}"`;
        assert.ok(used.has(label), `${name} is not at /metrics`);
        assert.ok((limit.get(label) ?? 0) > 0, `${name} has no bound`);
      }
      const told = readFileSync('docs/OPERATIONS.md', 'utf8');
      for (const label of used.keys()) {
        const name = /^table="(\w+?)(_of_thread_\d+)?"$/.exec(label)?.[1];
        assert.ok(told.includes(`\`${name}\``), `${name} is not in docs/OPERATIONS.md`);
        for (const language of ['en', 'fr'] as const) {
          const text = frameText({ language } as PageFrame).console.system;
          assert.notEqual(tableLabel(text, name!), name, `${name} has no words in ${language}`);
        }
      }
      for (let thread = 0; thread < threads; thread++) {
        assert.equal(used.has(`table="in_flight_of_thread_${thread}"`), threads > 1);
      }

      const sockets: Socket[] = [];
      try {
        for (let i = 0; i < slow; i++) {
          const socket = connect(server.port, '127.0.0.1');
          socket.on('error', () => {});
          socket.write('POST /signin HTTP/1.1\r\nHost: h\r\nContent-Length: 9999\r\n\r\na');
          sockets.push(socket);
        }
        let seen = new Map<string, number>();
        const of = (name: string) => seen.get(`table="${name}"`) ?? 0;
        const all = [...Array(threads).keys()];
        await within(async () => {
          seen = await metric(server, 'portcullis_table_used');
          return of('arriving_bodies') === slow;
        }, `${slow} bodies arrive`);
        if (threads > 1) {
          const ofThreads = all.map((thread) => of(`arriving_bodies_of_thread_${thread}`));
          assert.equal(
            ofThreads.reduce((sum, count) => sum + count, 0),
            slow,
          );
          assert.ok(
            ofThreads.slice(1).some((count) => count > 0),
            `${ofThreads}`,
          );
        }
      } finally {
        for (const socket of sockets) socket.destroy();
      }
      await within(async () => {
        const now = await metric(server, 'portcullis_table_used');
        return now.get('table="arriving_bodies"') === 0;
      }, 'none is left');
    });
  });
}
