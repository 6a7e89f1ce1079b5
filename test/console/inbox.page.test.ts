/** The inbox as a page: the cards of lists and vote budgets, what is counted, and where its links lead. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { endpoints } from '../../src/app/modules.ts';
import { type InboxView, inboxPage } from '../../src/console/inbox/inbox.page.tsx';
import { listsPage } from '../../src/console/reputation/lists.page.tsx';
import type { ShownPeer } from '../../src/console/reputation/peers.page.tsx';
import { checklistPage } from '../../src/console/service/checklist.page.tsx';
import { formFieldsOf } from '../../src/contracts/operation.ts';
import { operations } from '../../src/operations/catalog.ts';
import { testFrame } from '../web/page-fixtures.ts';

const list = {
  name: 'ipsum',
  from: 'lists.example/ipsum.txt',
  rows: 120_430,
  added: 3,
  removed: 1,
  freshAt: Date.UTC(2026, 10, 25, 8),
  failures: 3,
  failure: 'HTTP 503 <b>',
  heldRows: 0,
  state: 'failing' as const,
};
const budget = {
  id: 'nJ3x0cF8kq2W5yT7sQ1bVw',
  email: 'ada@mail.example',
  open: 96.4,
  limit: 100.9,
  limitOfMember: 1_000,
};
const view: InboxView = {
  csrf: 'token',
  now: Date.UTC(2026, 10, 26),
  done: false,
  categoryNames: [],
  formFields: (act) => formFieldsOf(operations.get(act)!),
  waits: {},
  steps: { list: true, publicUrl: false, tls: false, mail: false, backup: false, passkey: false },
  removals: [],
  anonymousReports: [],
  waiting: { removals: 0, anonymousReports: 0 },
  lists: [],
  budgets: [],
  peers: [],
  span: '24h',
  tiles: [],
  recent: [],
  reader: '',
  recentEmails: new Map(),
};

/** What the page of set-up shows besides. */
const facts = {
  port: 28_461,
  host: 'ip.shop.example',
  typedHost: undefined,
  asked: undefined,
  newestBackupAt: undefined,
  geoMadeAt: 1,
  isGeoFresh: false,
  address: 'ada@mail.example',
};

/** The cards of an inbox, each as the text that is read, with what its forms send. */
function cardsOf(language: 'en' | 'fr', more: Partial<InboxView>) {
  const html = inboxPage(testFrame(language), { ...view, ...more });
  return html
    .split('<article')
    .slice(1)
    .map((part) => {
      const card = part.slice(0, part.indexOf('</article>'));
      const sent = [...card.matchAll(/<form[\s\S]*?<\/form>/g)].map(([form]) =>
        Object.fromEntries(
          [...form.matchAll(/name="(\w+)" value="([^"]*)"/g)]
            .map(([, name, value]) => [name!, value!])
            .filter(([name]) => name !== 'csrf'),
        ),
      );
      const text = card
        .slice(card.indexOf('>') + 1)
        .replace(/<[^>]*>/g, ' ')
        .replace(/\s+/g, ' ');
      return { text, sent, html: card };
    });
}

it('a list that fails has a card: why, since when, and what to do', () => {
  const [card, ...others] = cardsOf('en', { lists: [list] });
  assert.deepEqual(others, []);
  assert.match(card!.text, /ipsum did not load/);
  assert.match(card!.text, /3 failed attempts/);
  assert.match(card!.text, /HTTP 503 &lt;b>\. The rows from 25 Nov 2026, 08:00 UTC still count\./);
  assert.deepEqual(card!.sent, [
    { do: 'refresh', name: 'ipsum' },
    { do: 'pause', name: 'ipsum' },
  ]);
  assert.match(cardsOf('fr', { lists: [list] })[0]!.text, /ipsum n’a pas pu être chargée/);
});

it('a list that lost most of its rows can be taken all the same', () => {
  const held = { ...list, state: 'held' as const, heldRows: 900, failures: 0, failure: '' };
  const [card] = cardsOf('en', { lists: [held] });
  assert.match(card!.text, /ipsum shrank by more than half/);
  assert.match(card!.text, /A download of 900 rows is held back/);
  assert.deepEqual(
    card!.sent.map((form) => form.do),
    ['accept', 'refresh', 'pause'],
  );
});

it('a telephone shows three cards, and the others at a press that says how many there are', () => {
  const lists = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ ...list, name: `list-${at}` }));
  const html = inboxPage(testFrame('en'), { ...view, lists: lists(9) });
  const [open, folded] = html.split('<details class="needs-more">');
  assert.equal(open!.split('<article').length - 1, 3);
  assert.equal(folded!.split('</details>')[0]!.split('<article').length - 1, 6);
  assert.match(folded!, /^<summary[^>]*><span class="when-closed">Show all 9</);
  assert.doesNotMatch(inboxPage(testFrame('en'), { ...view, lists: lists(3) }), /needs-more/);
});

it('says what the figures are compared with where one is compared', () => {
  const tiles = (before: number) => {
    const one = { name: 'checks', count: 3, before, series: [1, 2] } as const;
    return inboxPage(testFrame('en'), {
      ...view,
      tiles: [one, { ...one, name: 'reports', before: 0 }],
    });
  };
  assert.match(tiles(2), /\+50 %[\s\S]*Compared with the previous 24 hours\./);
  assert.doesNotMatch(tiles(0), /Compared with/);
});

it('draws a bar for each part of the span, however few have something', () => {
  const drawn = (series: readonly number[]) => {
    const tile = { name: 'checks', count: 3, before: 0, series } as const;
    const html = inboxPage(testFrame('en'), { ...view, tiles: [tile] });
    const bars = (name: string) =>
      new RegExp(`"${name}" d="([^"]*)"`).exec(html)?.[1]?.split('z').slice(0, -1);
    return [bars('spark-none'), bars('spark-some')];
  };
  assert.deepEqual(drawn([0, 0, 3]), [['M0 40v-1h3v1', 'M4 40v-1h3v1'], ['M8 40v-40h3v40']]);
  assert.deepEqual(drawn([100, 1]), [undefined, ['M0 40v-40h3v40', 'M4 40v-4h3v4']]);
});

it('folds the steps of set-up beside decisions, and opens them where none waits', () => {
  const html = (lists: InboxView['lists']) => inboxPage(testFrame('en'), { ...view, lists });
  assert.match(html([]), /<details class="card set-up" open>/);
  const busy = html([list]);
  assert.match(busy, /<details class="card set-up">[\s\S]*Next: Set the address/);
  assert.ok(busy.indexOf('class="need"') < busy.indexOf('card set-up'), 'decisions are first');
});

it('counts the steps that are done as the page of set-up does', () => {
  const checklist = checklistPage(testFrame('en'), { ...view, ...facts }).replaceAll('<wbr/>', '');
  for (const html of [inboxPage(testFrame('en'), view), checklist]) {
    assert.deepEqual(html.match(/\d of \d done(?=<)/g), ['1 of 6 done']);
  }
  assert.match(checklist, /over two months old/);
  assert.match(checklist, /--from ip\.shop\.example --to localhost:28461</);
  assert.match(checklist, /BASE_URL=https:\/\/ip\.shop\.example</);
  assert.match(checklist, /2\. Set the address[\s\S]*?>next</);
  assert.ok(checklist.indexOf('Where settings go') < checklist.indexOf('2. Set the address'));
  for (const name of ['Load a list', 'Set the address', 'Turn on backups']) {
    assert.ok(checklist.includes(name), `${name}, as the inbox says`);
  }
});

it('an inbox without decisions tells the steps that are open, and leads to each of them', () => {
  const lede = (steps: InboxView['steps']) =>
    /<p class="lede">([^<]*)</.exec(inboxPage(testFrame('en'), { ...view, steps }))?.[1];
  assert.equal(lede(view.steps), 'Nothing needs you. 5 set-up steps left.');
  assert.equal(lede({ list: true, mail: false }), 'Nothing needs you. One set-up step left.');
  assert.equal(lede({ list: true }), 'Nothing needs you right now.');
  const links = [
    ...inboxPage(testFrame('en'), view).matchAll(/"\/admin\/checklist\?step=(\w+)#\1"/g),
  ];
  const ids = links.map(([, id]) => id);
  assert.deepEqual(ids, ['publicUrl', 'tls', 'mail', 'backup']);
  const checklistAt = (asked?: string, more?: Partial<InboxView>) =>
    checklistPage(testFrame('en'), { ...view, ...facts, asked, ...more }).replaceAll('<wbr/>', '');
  const openOf = (html: string) => html.match(/<details id="\w+" open>/g);
  for (const id of ids) assert.deepEqual(openOf(checklistAt(id)), [`<details id="${id}" open>`]);
  // Else the next one is open, and the others say in their lines what they are for.
  const checklist = checklistAt();
  assert.deepEqual(openOf(checklist), ['<details id="publicUrl" open>']);
  assert.match(checklist, /3\. Serve over https<\/h2>.{0,80}Browsers need https for passkeys/s);
  // The page that a test email leads back to shows where it was asked for.
  const refused = { does: 'mail-test', sentence: 'no', field: undefined };
  assert.deepEqual(openOf(checklistAt(undefined, { refused })), ['<details id="mail" open>']);
  assert.match(checklist, /\/etc\/portcullis\/portcullis\.env.*systemctl restart portcullis/s);
  // A server without a name asks for it, and all steps have it then.
  const named = (typedHost: string, host: string) =>
    checklistPage(testFrame('en'), { ...view, ...facts, typedHost, host }).replaceAll('<wbr/>', '');
  const right = named('gate.shop.net', 'gate.shop.net');
  assert.equal(right.split('gate.shop.net').length - 1, 4, 'the field and three steps');
  assert.doesNotMatch(right, /no host name/);
  assert.match(named('a_b', 'ip.example.com'), /That’s no host name/);
  assert.match(named('a_b', 'ip.example.com'), /value="a_b"/);
  // Without its file the command looks at other settings than the service has.
  const commands = checklist.match(/portcullis [^<]*doctor/g);
  assert.deepEqual(
    commands,
    Array(2).fill('portcullis --settings /etc/portcullis/portcullis.env doctor'),
  );
});

it('an account near the end of its votes has a card, with what vouching gives it', () => {
  const [card] = cardsOf('en', { budgets: [budget] });
  assert.match(card!.text, /ada@mail\.example/);
  assert.match(card!.text, /96 of 100 votes used/);
  assert.match(card!.text, /Vouch for this account 100 → 1000/);
  assert.deepEqual(card!.sent, [{ do: 'vouch', id: budget.id }]);
  assert.match(card!.html, /href="\/admin\/reports\?find=nJ3x0cF8kq2W5yT7sQ1bVw"/);
  assert.match(cardsOf('fr', { budgets: [budget] })[0]!.text, /96 votes utilisés sur 100/);
});

it('a peer whose rows wait has a card with examples, and one of a strange key leads to its page', () => {
  const peer: ShownPeer = {
    name: 'b.example',
    url: 'https://b.example',
    state: 'held',
    held: 'many new rows',
    counts: true,
    weight: 1,
    isNew: false,
    isOwn: false,
    follows: '',
    rows: 9,
    open: 0,
    budget: 500,
    refused: 0,
    confirmed: 0,
    knownGood: 0,
    freshAt: 0,
    headEndsAt: 0,
    failure: '',
    heldRows: 1_501,
    heldExamples: ['45.1.1.1', '2a10::/64'],
    owner: '',
    ownBudget: 0,
    heldHash: '0a1b2c3d4e5f',
    hasChanged: false,
    isIndependent: false,
    key: 'b.example+1+A',
  };
  const [card, ...others] = cardsOf('en', { peers: [peer] });
  assert.deepEqual(others, []);
  assert.match(card!.text, /b\.example Peer.*Many more new rows.*1,501\. 45\.1\.1\.1, 2a10::\/64/);
  assert.deepEqual(card!.sent, [
    { do: 'accept', peer: 'b.example', shown: '0a1b2c3d4e5f' },
    { do: 'drop', peer: 'b.example', shown: '0a1b2c3d4e5f' },
  ]);
  const [silent] = cardsOf('en', { peers: [{ ...peer, state: 'stale', counts: false }] });
  assert.match(silent!.text, /Nothing it said counts now/);
  const strange = { ...peer, held: 'strange key' as const, heldRows: 0, heldExamples: [] };
  const [other] = cardsOf('fr', { peers: [strange] });
  assert.deepEqual(other!.sent, []);
  assert.match(other!.html, /href="\/admin\/peers\?peer=b\.example"/);
  assert.match(other!.text, /Sa clé est inconnue/);
});

it('the navigation counts what waits, and says nothing of what does not', () => {
  const html = inboxPage(testFrame('en'), {
    ...view,
    waits: { inbox: 1_204, removals: 1_203, tips: 0, lists: 1 },
  });
  const names = [...html.matchAll(/<li[^>]*><a href="(\/admin[^"]*)"[^>]*>([\s\S]*?)<\/a>/g)].map(
    ([, href, name]) => [href, name!.replace(/<[^>]*>/g, '').replace(/\s+/g, ' ')],
  );
  assert.deepEqual(names.slice(0, 4), [
    ['/admin', 'Inbox 1,204(1,204 waiting)'],
    ['/admin/removals', 'Removal requests 1,203(1,203 waiting)'],
    ['/admin/tips', 'Anonymous reports'],
    ['/admin/lists', 'Lists 1(1 waiting)'],
  ]);
});

it('each link of an inbox with open steps leads to a page of this service', () => {
  const html = inboxPage(testFrame('en'), { ...view, lists: [list], budgets: [budget] });
  const body = html.slice(html.indexOf('<main'), html.indexOf('</main>'));
  const links = [...body.matchAll(/href="(\/[^"?#]*)/g)].map(([, path]) => path!);
  const known = endpoints
    .filter(({ method }) => method === 'GET')
    .map(({ path }) => new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`));
  assert.ok(links.length > 15, String(links.length));
  for (const link of links) {
    assert.ok(
      known.some((path) => path.test(link)) && !/^\/docs\/[A-Z]/.test(link),
      `${link} leads nowhere`,
    );
  }
});

it('recent changes are told in words, and a command without words as it is', () => {
  const entry = { at: 1, user: 'root (0)', before: '', after: '', address: '', result: 'done' };
  const recent = ['allow add 192.0.2.0/24 reason=ours', 'cluster prune 7'].map(
    (command) => ({ ...entry, command }) as (typeof view)['recent'][number],
  );
  const told = (language: 'en' | 'fr') =>
    inboxPage(testFrame(language), { ...view, recent }).replace(/<[^>]*>/g, '');
  assert.match(told('en'), /Recent changesAllowed 192\.0\.2\.0\/24command line · \d/);
  assert.match(told('fr'), /récentesAutorisée 192\.0\.2\.0\/24ligne de commande · \d/);
  const mine = { ...recent[0]!, user: 'account aaaabbbbccccdddd' };
  const ours = { ...view, recent: [mine], reader: 'aaaabbbbccccdddd' };
  assert.match(inboxPage(testFrame('en'), ours), />you · </);
  for (const language of ['en', 'fr'] as const) assert.match(told(language), /1970cluster prune 7/);
  const invited = { ...entry, command: 'account invite aaaabbbbccccdddd' } as (typeof recent)[0];
  const recentEmails = new Map([['aaaabbbbccccdddd', 'ada@mail.example']]);
  const named = inboxPage(testFrame('en'), { ...view, recent: [invited], recentEmails });
  assert.match(named.replace(/<[^>]*>/g, ''), /Invitation sent ada@mail\.example/);
});

it('a list loaded once says so in the catalogue, which counts those that are fetched and that fail', () => {
  const offer = { title: 'IPsum', terms: 'https://lists.example/', falsePositives: 'few' } as const;
  const once = { kind: 'seed', complete: true, loadedAt: 1, endsAt: 2, blocking: 5 } as const;
  const shown = (lists: InboxView['lists']) =>
    listsPage(testFrame('en'), {
      ...view,
      lists,
      offers: [
        { ...offer, name: 'ipsum' },
        { ...offer, name: 'dshield' },
      ],
      loaded: [{ ...once, name: 'ipsum', rows: 120_430 }],
      blocking: new Map(),
    }).replace(/<[^>]*>/g, ' ');
  assert.match(shown([]), /IPsum\s.*?120,430 rows\s+loaded once, not updated\s+Keep up to date/s);
  assert.ok(shown([]).indexOf('Lists loaded once') < shown([]).indexOf('Catalogue'));
  assert.doesNotMatch(shown([]), /\d fetched/);
  const others = [list, { ...list, name: 'other', state: 'active' as const, failures: 0 }];
  assert.match(shown(others), /2 fetched\s+1 failing/);
  assert.doesNotMatch(shown(others.slice(1)), /failing\s/);
});

it('a change that failed says that it was not done, and nothing of a mail address that the log leaves out', () => {
  const command = 'account create (mail address) standing=newcomer';
  const entry = { at: 1, user: 'root (0)', before: '', after: '', address: '', command };
  const told = (language: 'en' | 'fr') =>
    inboxPage(testFrame(language), { ...view, recent: [{ ...entry, result: 'failed' }] }).replace(
      /<[^>]*>/g,
      '',
    );
  assert.match(told('en'), /Account not created(?! \()/);
  assert.match(told('fr'), /Compte non créé(?! \()/);
});
