/**
 * /connect: what can be connected, in groups, and a screen for each: values, numbered steps with the texts to paste,
 * and beside them a card that tells what became of the first request. Without a script the values are sent by the
 * form, and the card is looked at again by a link.
 */

import type { Voucher } from '../../access/quota/points.ts';
import type { Language } from '../../core/language.ts';
import { scoreTiers } from '../../reputation/blocklists/feed-definitions.ts';
import { bothFamilies } from '../../reputation/blocklists/recipes.ts';
import { Card, CodeBlock, Notice } from '../../web/components/card.tsx';
import { Button, Field, Form, LinkButton, SelectField } from '../../web/components/form.tsx';
import { Icon } from '../../web/components/icon.tsx';
import { Link } from '../../web/components/link.tsx';
import { type Html, safeHref } from '../../web/html.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.tsx';
import { docPath } from '../docs/library.ts';
import { pluginPath } from '../kit/kit.route.ts';
import { frameText, type OwnWords, type Translations, translationsFor } from '../words.ts';
import {
  type ChoiceName,
  type ConnectStep,
  type ConnectTarget,
  groupNames,
  type Integration,
  keyPlaceholder,
  ownMachineOf,
  popularNames,
  type SampleValues,
  sampleClient,
  sampleSiteKey,
  shelfNames,
  shelves,
  usualApp,
  usualBlock,
  usualChallenge,
  usualDomain,
} from './targets.ts';

export const connectPath = '/connect';

/** The page shows the reader's key, or says why not; `hidden`: the reader has to confirm first. */
export type KeyStanding = 'shown' | 'hidden' | 'none' | 'unknown-reader';

export type NoteName = keyof Translations['connect']['live']['notes'];

/** Says why a request got no answer. */
export interface ConnectNote {
  readonly name: NoteName;
  /** The address of a proxy, or the name of a parameter. */
  readonly about: string;
}

/** By what the page knows its first request. */
export interface ConnectWatch {
  readonly by: 'key' | 'ownKey' | 'mark' | 'browser';
  /** Answers with `{"requests":n,"note":{"name","about"},"passed":n,"visitor"}`. */
  readonly path: string;
  /** The count when the page was made; a higher one means that a request has arrived. */
  readonly requests: number;
  readonly hasArrived: boolean;
  /** The count of checks that went well so far, where each is seen by itself. */
  readonly passed?: number;
  /** The address that a proxy named with the first request. */
  readonly visitor?: string | undefined;
  /** A request came that got no answer. */
  readonly note: ConnectNote | undefined;
}

export interface ConnectData {
  readonly target: ConnectTarget;
  readonly sampleValues: SampleValues;
  /** Values that are no choice, as they were typed: the samples have the usual ones. */
  readonly wrong: Readonly<Partial<Record<ChoiceName, string>>>;
  readonly key: KeyStanding;
  /** Undefined: the reader is not fully signed in, so no request can be known as theirs. */
  readonly watch: ConnectWatch | undefined;
  /** The server has demo data: a site may be on the developer's own machine. */
  readonly demo: boolean;
  /** False: the operator has not turned the integration on. */
  readonly isOpen: boolean;
  readonly trustsLoopback: boolean;
  /** The reader may vouch for accounts. */
  readonly isOperator: boolean;
  /** The extent to which the operator vouches for the reader. */
  readonly vouched: Voucher;
  readonly csrf: string;
  readonly baseUrl: string;
  /** Page of the documentation about its integration. */
  readonly docs: string;
}

export function targetPath(name: string): string {
  return `${connectPath}/${name}`;
}

function shownValue(name: ChoiceName, sampleValues: SampleValues): string {
  switch (name) {
    case 'domain':
      return sampleValues.domain ?? '';
    case 'app':
      return sampleValues.app ?? usualApp;
    case 'challenge':
      return String(sampleValues.challenge ?? usualChallenge);
    case 'block':
      return String(sampleValues.block ?? usualBlock);
    case 'score':
      return String(sampleValues.score);
    case 'family':
      return sampleValues.family ?? '';
  }
}

/** The screen again, with what was chosen. */
function samePath({ target, sampleValues }: ConnectData): string {
  const query = new URLSearchParams();
  for (const name of target.choices) {
    const value = shownValue(name, sampleValues);
    if (value !== '') query.set(name, value);
  }
  return query.size === 0 ? targetPath(target.name) : `${targetPath(target.name)}?${query}`;
}

type Words = Translations['connect'];

function ownWords({ name }: ConnectTarget, { own }: Words): OwnWords {
  return Object.hasOwn(own, name) ? (own[name] ?? {}) : {};
}

function titleOf(target: ConnectTarget, text: Words): string {
  return ownWords(target, text).title ?? target.title;
}

function headingOf(target: ConnectTarget, text: Words): string {
  return ownWords(target, text).heading ?? text.pageTitle(titleOf(target, text));
}

/** Returns the screens as the search of the documentation finds them, in the reader's language. */
export function connectScreens(targets: readonly ConnectTarget[], language: Language) {
  const { connect: text } = translationsFor(language);
  return targets.map((target) => ({
    href: targetPath(target.name),
    title: headingOf(target, text),
    text: ownWords(target, text).text ?? text.integrations[target.integration].text,
  }));
}

// The first screen.

interface Tile {
  readonly name: string;
  readonly href: string;
  readonly letters: string;
  readonly title: string;
  readonly short: string;
  readonly isConnected: boolean;
}

function tile({ href, letters, title, short, isConnected }: Tile, text: Words): Html {
  return (
    <li data-find={`${title} ${short}`.toLowerCase()}>
      <Link class="target" href={href}>
        <span class="arch" aria-hidden="true">
          {letters}
        </span>
        <strong>{title}</strong>
        <span class={isConnected ? 'target-live' : 'target-short'}>
          {isConnected ? text.connected : short}
        </span>
      </Link>
    </li>
  );
}

export function connectIndexPage(
  frame: PageFrame,
  targets: readonly ConnectTarget[],
  connected: ReadonlySet<string>,
): string {
  const { connect: text } = frameText(frame);
  const tilesOf = (group: ConnectTarget['group']): Tile[] => {
    const tiles = targets
      .filter((target) => target.group === group && target.name !== 'abuseipdb')
      .map((target) => ({
        name: target.name,
        href: targetPath(target.name),
        letters: target.letters,
        title: titleOf(target, text),
        short: ownWords(target, text).short ?? text.integrations[target.integration].short,
        isConnected: connected.has(target.name),
      }));
    if (group !== 'signOn') return tiles;
    const { title, text: short } = text.fitTile;
    const href = `${docPath('sign-on')}#which-apps-fit`;
    return [...tiles, { name: 'fit', href, letters: '?', title, short, isConnected: false }];
  };
  const list = (tiles: readonly Tile[]) => (
    <ul class="targets" data-connected={text.connected}>
      {tiles.map((one) => tile(one, text))}
    </ul>
  );
  const shelved = (tiles: readonly Tile[]) => (
    <div class="shelves">
      {shelfNames.map((shelf) => (
        <div class="shelf">
          <h3>{text.shelves[shelf]}</h3>
          {list(shelves[shelf].flatMap((name) => tiles.filter((one) => one.name === name)))}
        </div>
      ))}
    </div>
  );
  const popular = popularNames.flatMap((name) => targets.filter((one) => one.name === name));
  const grouped = groupNames.map((group) => ({ group, tiles: tilesOf(group) }));
  const count = grouped.reduce((sum, { tiles }) => sum + tiles.length, 0);
  return renderDocument(
    { ...frame, current: 'connect' },
    {
      title: text.title,
      description: text.description,
      className: 'page-connect',
      script: 'connect.js',
      body: (
        <div class="wrap connect">
          <div class="connect-head">
            <div>
              <h1>{text.title}</h1>
              <p class="muted">{text.lede[frame.person === undefined ? 'unknown' : 'known']}</p>
            </div>
            <div class="connect-filter" id="filter" hidden>
              <label class="visually-hidden" for="find-target">
                {text.filter}
              </label>
              <Icon name="search" />
              <input
                class="input"
                id="find-target"
                type="search"
                placeholder={text.filter}
                autocomplete="off"
                spellcheck={false}
                maxlength={80}
              />
            </div>
          </div>
          <div class="connect-ways">
            <nav class="chips" aria-label={text.title}>
              <Link class="chip" href={connectPath} data-group="" aria-current="true">
                {text.all} <span>{count}</span>
              </Link>
              {grouped.map(({ group, tiles }) => (
                <Link class="chip" href={`#${group}`} data-group={group}>
                  {text.groups[group].title} <span>{tiles.length}</span>
                </Link>
              ))}
            </nav>
            <nav class="connect-popular" aria-labelledby="popular">
              <span id="popular">{text.popular}</span>
              {popular.map((target) => (
                <Link href={targetPath(target.name)}>
                  {target.group === 'signOn' ? text.groups.signOn.title : titleOf(target, text)}
                </Link>
              ))}
            </nav>
          </div>
          <Link class="connect-moving" href={targetPath('abuseipdb')}>
            <Icon name="arrow" />
            <span>
              <strong>{text.moving.title}</strong> {text.moving.text}
            </span>
            <span class="connect-moving-link">{text.moving.link}</span>
          </Link>
          {grouped.map(({ group, tiles }) => (
            <section class={`connect-group tone-${group}`} id={group} data-of={group}>
              <div>
                <h2>{text.groups[group].title}</h2>
                <p class="muted">{text.groups[group].text}</p>
              </div>
              {group === 'block' ? shelved(tiles) : list(tiles)}
            </section>
          ))}
          <p class="muted" id="nothing-fits" role="status" hidden>
            {text.none}
          </p>
        </div>
      ),
    },
  );
}

// A screen.

function valueField(
  name: ChoiceName,
  { target, sampleValues, wrong, demo }: ConnectData,
  { values }: Words,
): Html {
  const isSignOn = target.integration === 'signOn';
  const { label, hint } =
    values.fields[name === 'domain' && isSignOn && demo ? 'demoDomain' : name];
  const value = wrong[name] ?? shownValue(name, sampleValues);
  const isOwnMachine = isSignOn && name === 'domain' && ownMachineOf(value) !== undefined;
  const error =
    wrong[name] === undefined ? undefined : values.wrong[isOwnMachine ? 'ownMachine' : name];
  const id = `value-${name}`;
  const usualSite = isSignOn ? sampleClient : usualDomain;
  switch (name) {
    case 'family':
      return (
        <SelectField
          {...{ id, name, label, value, error }}
          options={[
            { value: '', label: values.both },
            ...bothFamilies.map((one) => ({ value: one, label: `IPv${one}` })),
          ]}
        />
      );
    case 'score':
      return (
        <SelectField
          {...{ id, name, label, value, error }}
          options={scoreTiers.map((n) => ({ value: String(n), label: String(n) }))}
        />
      );
    case 'challenge':
    case 'block':
      return (
        <Field
          {...{ id, name, label, value, hint, error }}
          inputMode="numeric"
          maxLength={3}
          mono
          required
        />
      );
    default:
      return (
        <Field
          {...{ id, name, label, hint, error }}
          value={value}
          placeholder={name === 'app' ? usualApp : usualSite}
          autocomplete="off"
          maxLength={260}
          mono
        />
      );
  }
}

function valuesStep(data: ConnectData, text: Words): Html | false {
  const { target, demo } = data;
  const sites = demo ? 'demo' : 'public';
  return (
    target.choices.length > 0 && (
      <li data-step="values">
        <h2>{text.values.title}</h2>
        <p>{text.values.text}</p>
        <form
          class="connect-values"
          method="get"
          action={safeHref(targetPath(target.name))}
          data-sites={target.integration === 'signOn' ? sites : undefined}
        >
          {target.choices.map((name) => valueField(name, data, text))}
          <div class="connect-fill">
            <Button label={text.values.fill} kind="secondary" />
          </div>
        </form>
      </li>
    )
  );
}

const placeholderOpen = '\u{E000}';
const placeholderMiddle = '\u{E001}';
const placeholderClose = '\u{E002}';

/** Sets a chosen value apart, so that the page's script finds it. */
const placeholder = (name: ChoiceName, text: string) =>
  `${placeholderOpen}${name}${placeholderMiddle}${text}${placeholderClose}`;

/** Returns the code with its chosen values as marked text. */
function markedCode(code: string): Html {
  return code.split(placeholderOpen).map((part, i) => {
    if (i === 0) return withStarts(part);
    const [name = '', rest = ''] = part.split(placeholderMiddle);
    const [value = '', after = ''] = rest.split(placeholderClose);
    return (
      <>
        <mark data-value={name}>{value}</mark>
        {withStarts(after)}
      </>
    );
  });
}

/** Sets apart the indentation of a line with a long first word: broken between them, it would show an empty line. */
function withStarts(code: string): Html {
  return code
    .split(/(?<=\n)([ \t]+\S{16,})/)
    .map((part, i) => (i % 2 === 1 ? <span class="code-start">{part}</span> : part));
}

/** A key for one thing alone is made there; signing in, if needed, leads there too. */
const ownKeysPath = '/account/keys';
const keyPaths: Partial<Record<Integration, string>> = {
  bouncer: `${ownKeysPath}?scope=bouncer#key-name`,
  policy: `${ownKeysPath}?scope=mail#key-name`,
};

/** Returns whether the steps hold a key of an account. */
export function needsKey({ integration }: ConnectTarget): boolean {
  return integration === 'api' || integration === 'plugin' || integration === 'captcha';
}

function aboutKey({ target, key, csrf }: ConnectData, text: Words): Html | false {
  const keyPath = keyPaths[target.integration];
  if (keyPath !== undefined) {
    const words = target.integration === 'bouncer' ? text.bouncerKey : text.mailKey;
    return (
      <Notice tone="info">
        {words.text} <Link href={keyPath}>{words.link}</Link>
      </Notice>
    );
  }
  // The plugin's step makes its keys.
  if (!needsKey(target) || (key === 'none' && target.integration === 'plugin')) return false;
  if (key === 'none') {
    return (
      <Notice tone="info" title={text.keys.none.text}>
        <Form csrf={csrf} action={targetPath(target.name)}>
          <Button label={text.keys.none.link} />
        </Form>
      </Notice>
    );
  }
  const to = {
    shown: undefined,
    hidden: `/account/confirm?return=${encodeURIComponent(targetPath(target.name))}`,
    'unknown-reader': `/signin?return=${encodeURIComponent(targetPath(target.name))}`,
  }[key];
  return (
    <Notice tone={key === 'shown' ? 'success' : 'info'}>
      {text.keys[key].text}
      {to !== undefined && (
        <>
          {' '}
          <Link href={to}>{text.keys[key].link}</Link>
        </>
      )}
    </Notice>
  );
}

/** A text that still lacks a key is of no use in a clipboard. */
const isSample = (code: string) => code.includes(keyPlaceholder) || code.includes(sampleSiteKey);

/** The keys that the plugin asks for; a press makes those that are not there. */
function pluginValues(data: ConnectData, text: Translations): Html {
  const { make } = text.connect;
  const { key, sampleValues, target } = data;
  const { siteKey } = sampleValues;
  const values = [
    ['plugin-key', make.key, sampleValues.key ?? keyPlaceholder],
    ['plugin-site-key', make.siteKey, siteKey ?? sampleSiteKey],
  ] as const;
  const isMissing = siteKey === undefined || key === 'none';
  const canMake = key !== 'unknown-reader' && key !== 'hidden';
  return (
    <div class="connect-made">
      {values.map(([id, title, value]) => (
        <CodeBlock {...{ id, title, text }} code={value} isSample={isSample(value)} />
      ))}
      {isMissing && canMake && (
        <Form csrf={data.csrf} action={targetPath(target.name)}>
          <Button label={make.button} />
        </Form>
      )}
    </div>
  );
}

/** A demo has no file of settings: it is started with it. */
const settingOf = ({ demo }: ConnectData, proxy: string) =>
  `TRUSTED_PROXIES=${proxy}${demo ? ' npm start' : ''}`;

function stepBody(step: ConnectStep, label: string, data: ConnectData, text: Translations): Html {
  const { connect } = text;
  switch (step.says) {
    case 'trust': {
      const title = connect.destinations[data.demo ? 'terminal' : 'settings'];
      const code = `${settingOf(data, '127.0.0.1')}\n`;
      return <CodeBlock {...{ id: step.id, title, text, code }} label={`${label}: ${title}`} />;
    }
    case 'openSite': {
      const { domain } = data.sampleValues;
      const href = `http://${domain ?? usualDomain}/`;
      return (
        <p class="connect-open" hidden={domain === undefined}>
          <Link class="button button-primary" href={href} rel="noopener" data-open="">
            <span data-label={connect.openLink('{}')}>{connect.openLink(domain ?? '')}</span>
          </Link>
        </p>
      );
    }
    case 'download':
      return (
        <p>
          <LinkButton label={connect.download} href={pluginPath} icon="download" />
        </p>
      );
    case 'siteKey':
      return (
        <p>
          <LinkButton
            label={
              data.sampleValues.siteKey === undefined ? connect.makeSiteKey : connect.live.ownKeys
            }
            href={ownKeysPath}
            kind="secondary"
          />
        </p>
      );
    case 'fillIn':
      return pluginValues(data, text);
    default: {
      if (step.code === '') return null;
      return [step, ...(step.others ?? [])].map(({ id, destination, code }) => {
        const title =
          typeof destination === 'string' ? connect.destinations[destination] : destination.file;
        return (
          <CodeBlock
            {...{ id, title, text }}
            label={`${label}: ${title}`}
            code={markedCode(code)}
            isSample={isSample(code)}
          />
        );
      });
    }
  }
}

function stepList(data: ConnectData, text: Translations): Html {
  const { connect } = text;
  const { target, sampleValues, watch, trustsLoopback } = data;
  const steps = target.steps({ ...sampleValues, placeholder });
  const isBad = watch?.hasArrived === false && watch.note?.name === 'untrusted';
  return (
    <ol class="connect-steps" id="steps" data-all={connect.showAll('{}')}>
      {valuesStep(data, connect)}
      {steps.map((step) => {
        const hasSiteKey = step.says === 'siteKey' && sampleValues.siteKey !== undefined;
        const [title = '', sentence = ''] = hasSiteKey
          ? connect.siteKeyMade
          : connect.steps[step.says];
        const isTrust = step.says === 'trust';
        const isDone =
          (watch?.hasArrived === true && watch.by !== 'key') ||
          (isTrust && trustsLoopback && !isBad);
        const state = isDone ? 'is-ok' : isTrust && isBad ? 'is-bad' : undefined;
        return (
          <li data-step={step.says} class={state}>
            <h2>{title}</h2>
            {isTrust && trustsLoopback ? (
              <p>{connect.trusted}</p>
            ) : (
              <>
                <p>{isTrust && data.demo ? connect.trustDemo : sentence}</p>
                {stepBody(step, title, data, text)}
              </>
            )}
          </li>
        );
      })}
    </ol>
  );
}

// The card beside the steps.

type CheckName = keyof Words['live']['checks'];

/** A request goes through these in this order. */
function checksOf(integration: Integration): readonly CheckName[] {
  switch (integration) {
    case 'gate':
      return ['reached', 'trusted', 'address', 'verdict'];
    case 'spoe':
      return ['reached', 'address', 'verdict'];
    case 'feed':
      return ['reached', 'understood', 'answered'];
    case 'api':
    case 'plugin':
      return ['reached', 'accepted', 'understood', 'answered'];
    case 'bouncer':
    case 'policy':
    case 'captcha':
      return ['reached', 'accepted', 'answered'];
    case 'signOn':
      return ['asked', 'site', 'allowed', 'exchanged'];
    default:
      return ['reached', 'answered'];
  }
}

/** The check that a note says no to. */
const failsAt: Readonly<Record<NoteName, CheckName>> = {
  untrusted: 'trusted',
  silent: 'address',
  unreadable: 'address',
  contradictory: 'address',
  loopback: 'address',
  private: 'address',
  policy: 'verdict',
  query: 'understood',
  client: 'answered',
  key: 'accepted',
  scope: 'accepted',
  bouncerKey: 'accepted',
  mailKey: 'accepted',
  unknown: 'accepted',
  unknownElsewhere: 'accepted',
  parameter: 'understood',
  quota: 'answered',
  signInClient: 'site',
  signInRedirect: 'site',
  signInRequest: 'site',
  signInClosed: 'site',
  signInDeclined: 'allowed',
  signInExchange: 'exchanged',
};

/** The request may be somebody else's: the card goes on waiting. */
export function isDoubtful(name: NoteName): boolean {
  return name === 'unknownElsewhere';
}

/** Notes that can be of this integration. */
function notesOf(checks: readonly CheckName[], integration: Integration): NoteName[] {
  const names = Object.keys(failsAt) as NoteName[];
  const own =
    integration === 'bouncer' ? 'bouncerKey' : integration === 'policy' ? 'mailKey' : 'scope';
  const others = (['scope', 'bouncerKey', 'mailKey'] as NoteName[]).filter((name) => name !== own);
  return names.filter((name) => !others.includes(name) && checks.includes(failsAt[name]));
}

/** Its script (connect.js) asks again until a request has arrived. */
function liveCard(data: ConnectData, text: Translations): Html | false {
  const { live, aboutMark } = text.connect;
  const { watch, target } = data;
  if (watch === undefined) {
    const signIn = `/signin?return=${encodeURIComponent(samePath(data))}`;
    return (
      <section class="card live-card is-waiting" aria-labelledby="live-title">
        <h2 id="live-title">
          <span>
            <Icon name="clock" />
            {live.other.waiting}
          </span>
        </h2>
        <p>
          <Link href={signIn}>{live.signedOut}</Link>
        </p>
      </section>
    );
  }
  const { by, path, requests, hasArrived, passed = 0, visitor } = watch;
  const said = by === 'browser' ? live.signIn : live;
  const note = hasArrived ? undefined : watch.note;
  const checks = checksOf(target.integration);
  const notes = notesOf(checks, target.integration);
  const isGate = target.integration === 'gate' || target.integration === 'spoe';
  const heads = live[isGate ? 'gate' : 'other'];
  const isOwn = note !== undefined && !isDoubtful(note.name);
  const failing = isOwn ? checks.indexOf(failsAt[note.name]) : -1;
  // Which tool sent a request with the key, nobody knows.
  const arrived = by === 'key' ? 'known' : 'working';
  const state = hasArrived ? arrived : isOwn ? 'failing' : 'waiting';
  const again = <Link href={samePath(data)}>{live.lookAgain}</Link>;
  const setting = settingOf(data, note?.name === 'untrusted' ? note.about : '127.0.0.1');
  return (
    <section
      class={`card live-card is-${state}`}
      id="seen"
      aria-labelledby="live-title"
      data-look={path}
      data-seen={String(requests)}
      data-shared={target.integration === 'plugin' || undefined}
    >
      <h2 id="live-title" aria-live="polite">
        <span data-when="waiting" hidden={state !== 'waiting'}>
          <Icon name="clock" />
          {heads.waiting}
        </span>
        <span data-when="failing" hidden={state !== 'failing'}>
          <Icon name="alert" />
          <span class="live-sure">{heads.failing}</span>
          {isGate && <span class="live-unsure">{live.gate.unsure}</span>}
        </span>
        <span data-when="working" hidden={state !== 'working'}>
          <Icon name="check" />
          {heads.working}
        </span>
        <span data-when="known" hidden={state !== 'known'}>
          <Icon name="check" />
          {live.known}
        </span>
      </h2>
      <p data-when="waiting" hidden={state !== 'waiting'}>
        {said.waiting}
      </p>
      <p data-when="working" hidden={state !== 'working'}>
        {said.arrived}{' '}
        {isGate && (
          <span data-visitor={live.visitor('{}')}>
            {visitor !== undefined && live.visitor(visitor)}
          </span>
        )}
      </p>
      <p
        data-when="known"
        data-count={live.seenBefore('{}', target.reportsOnly === true)}
        hidden={state !== 'known'}
      >
        {live.seenBefore(String(requests), target.reportsOnly === true)}
      </p>
      {notes.map((name) => {
        const { title, text: mend } = live.notes[name];
        return (
          <div
            data-note={name}
            data-fails={isDoubtful(name) ? undefined : failsAt[name]}
            hidden={note?.name !== name}
          >
            <p>
              <strong data-about={title('{}')}>{title(note?.about ?? '')}</strong> {mend}{' '}
              {failsAt[name] === 'accepted' && (
                <Link href={keyPaths[target.integration] ?? ownKeysPath}>{live.ownKeys}</Link>
              )}
            </p>
            {name === 'untrusted' && (
              <CodeBlock
                id="mend"
                title={live[data.demo ? 'fixDemo' : 'fix']}
                code={setting}
                text={text}
              />
            )}
          </div>
        );
      })}
      <ul class="checks">
        {checks.map((name, i) => {
          const isOk = state === 'working' || i < (failing < 0 ? passed : failing);
          return (
            <li data-check={name} class={isOk ? 'is-ok' : i === failing ? 'is-bad' : undefined}>
              <Icon name="check" className="icon-check" />
              <Icon name="alert" className="icon-alert" />
              <Icon name="clock" className="icon-clock" />
              <span>{live.checks[name]}</span>
            </li>
          );
        })}
      </ul>
      <p class="live-foot">
        <span data-when="looking" hidden>
          {live.pollsOn}
        </span>
        <span data-when="late" hidden>
          {live.late} {again}
        </span>
        {!hasArrived && <noscript>{again}</noscript>}
      </p>
      {by === 'browser' && <p class="live-foot">{live.signIn.about}</p>}
      {by === 'mark' && (
        <p class="live-foot">{aboutMark[target.integration === 'dns' ? 'dns' : 'query']}</p>
      )}
    </section>
  );
}

/** Says why a report of a new account does not block, where people ask it. */
function vouchCard({ target, isOperator, vouched }: ConnectData, { vouch }: Words): Html | false {
  if (target.group !== 'report') return false;
  return (
    <Card title={vouched === 'none' ? vouch.title : vouch.titleVouched} icon="shield">
      <p>{vouched === 'none' ? vouch.text : vouch.vouched[vouched]}</p>
      {isOperator ? (
        <p>
          <Link href="/admin/people">{vouch.link}</Link>
        </p>
      ) : (
        vouched === 'none' && <p>{vouch.member}</p>
      )}
      <p>
        <Link href={docPath('scoring')}>{vouch.more}</Link>
      </p>
    </Card>
  );
}

export function connectPage(frame: PageFrame, data: ConnectData): string {
  const text = frameText(frame);
  const { connect } = text;
  const { target, isOpen } = data;
  const integration = connect.integrations[target.integration];
  const own = ownWords(target, connect);
  const heading = headingOf(target, connect);
  const lede = own.text ?? integration.text;
  const oldHttp = Object.entries(connect.oldHttp).find(([name]) => name === target.name)?.[1];
  return renderDocument(
    { ...frame, current: 'connect' },
    {
      title: heading,
      description: lede,
      className: 'page-connect',
      script: 'connect.js',
      body: (
        <div class={`wrap connect tone-${target.group}`}>
          <p class="crumbs">
            <Link href={connectPath}>{connect.crumb}</Link> <span aria-hidden="true">›</span>{' '}
            <span>{titleOf(target, connect)}</span>
          </p>
          <div class="connect-title">
            <span class="arch" aria-hidden="true">
              {target.letters}
            </span>
            <div>
              <h1>{heading}</h1>
              <p class="muted">{lede}</p>
            </div>
          </div>
          <div class="wizard">
            <div class="stack">
              {!isOpen && (
                <Notice tone="warning">
                  {connect.closed[target.integration === 'dns' ? 'dns' : 'spoe']}
                </Notice>
              )}
              {aboutKey(data, connect)}
              {stepList(data, text)}
            </div>
            <div class="wizard-side">
              {liveCard(data, text)}
              {vouchCard(data, connect)}
              <Card title={connect.moreTitle} icon="info">
                <p>{own.note ?? integration.note}</p>
                {oldHttp !== undefined && <p>{oldHttp}</p>}
                <p>
                  <LinkButton label={connect.more} href={data.docs} kind="secondary" />
                </p>
              </Card>
            </div>
          </div>
        </div>
      ),
    },
  );
}
