/** /connect: what can be connected, and a screen for each with its steps filled in. */

import { Card, CodeBlock, Notice } from '../../web/components/card.tsx';
import { Button, LinkButton, SelectField } from '../../web/components/form.tsx';
import { Icon } from '../../web/components/icon.tsx';
import { Link } from '../../web/components/link.tsx';
import { type Html, safeHref } from '../../web/html.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.tsx';
import { type Catalogue, frameText } from '../words.ts';
import {
  type ChoiceName,
  type ConnectStep,
  type ConnectTarget,
  type Filling,
  families,
  groupNames,
  scores,
} from './targets.ts';

export const connectPath = '/connect';

/** The page shows the reader's key, or says why not; `hidden`: the reader has to confirm first. */
export type KeyStanding = 'shown' | 'hidden' | 'none' | 'unknown-reader';

/** By what the page knows its first request. */
export interface ConnectWatch {
  readonly by: 'key' | 'bouncerKey' | 'mark';
  /** Answers with `{"requests":n}`. */
  readonly path: string;
  /** The count when the page was made; a higher one means that a request has arrived. */
  readonly requests: number;
  readonly hasArrived: boolean;
  /** A request came that does not name the visitor. */
  readonly isRefused: boolean;
}

export interface ConnectData {
  readonly target: ConnectTarget;
  readonly filling: Filling;
  readonly key: KeyStanding;
  /** Undefined: the reader is not fully signed in, so no request can be known as theirs. */
  readonly watch: ConnectWatch | undefined;
  /** False: the operator has not turned the integration on. */
  readonly isOpen: boolean;
  /** Page of the documentation about its integration. */
  readonly docs: string;
}

function targetPath(name: string): string {
  return `${connectPath}/${name}`;
}

/** The screen again, with what was chosen. */
function samePath({ target, filling }: ConnectData): string {
  const { family, score } = filling;
  const chosen: Record<ChoiceName, string | undefined> = { family, score: String(score) };
  const query = new URLSearchParams();
  for (const name of target.choices) {
    if (chosen[name] !== undefined) query.set(name, chosen[name]);
  }
  return query.size === 0 ? targetPath(target.name) : `${targetPath(target.name)}?${query}`;
}

export function connectIndexPage(frame: PageFrame, targets: readonly ConnectTarget[]): string {
  const { connect: text } = frameText(frame);
  return renderDocument(
    { ...frame, current: 'connect' },
    {
      title: text.title,
      description: text.description,
      className: 'page-connect',
      body: (
        <div class="wrap stack">
          <div class="section-intro page-intro">
            <h1>{text.title}</h1>
            <p class="lede">{text.lede}</p>
          </div>
          {groupNames.map((group) => (
            <section>
              <h2>{text.groups[group]}</h2>
              <ul class="targets">
                {targets
                  .filter((target) => target.group === group)
                  .map((target) => (
                    <li>
                      <Link class="target" href={targetPath(target.name)}>
                        <strong>{target.title}</strong>
                        <span>{text.integrations[target.integration].short}</span>
                      </Link>
                    </li>
                  ))}
              </ul>
            </section>
          ))}
        </div>
      ),
    },
  );
}

function choices({ target, filling }: ConnectData, { connect: text }: Catalogue): Html | false {
  const field: Readonly<Record<ChoiceName, () => Html>> = {
    family: () => (
      <SelectField
        id="family"
        name="family"
        label={text.family}
        value={filling.family ?? ''}
        options={[
          { value: '', label: text.bothFamilies },
          ...families.map((value) => ({ value, label: `IPv${value}` })),
        ]}
      />
    ),
    score: () => (
      <SelectField
        id="score"
        name="score"
        label={text.score}
        value={String(filling.score)}
        options={scores.map((n) => ({ value: String(n), label: text.fromScore(n) }))}
      />
    ),
  };
  return (
    target.choices.length > 0 && (
      <form class="connect-choices" method="get" action={safeHref(targetPath(target.name))}>
        {target.choices.map((name) => field[name]())}
        <Button label={text.choose} kind="secondary" />
      </form>
    )
  );
}

/** A key that may fetch decisions alone is made there; signing in, if needed, leads there too. */
const bouncerKeyPath = '/account/keys?scope=bouncer#key-name';

/** Returns whether the steps hold a key of an account. */
function needsKey({ integration }: ConnectTarget): boolean {
  return integration === 'api' || integration === 'plugin';
}

function aboutKey({ target, key }: ConnectData, { connect: text }: Catalogue): Html | false {
  if (target.integration === 'bouncer') {
    const link = <Link href={bouncerKeyPath}>{text.bouncerKey.link}</Link>;
    return (
      <Notice tone="info">
        {text.bouncerKey.text} {link}
      </Notice>
    );
  }
  if (!needsKey(target)) return false;
  const to = {
    shown: undefined,
    hidden: `/account/confirm?return=${encodeURIComponent(targetPath(target.name))}`,
    none: '/account/keys',
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

/** Its script (connect.js) asks again until one has arrived. */
function seenBox(data: ConnectData, { connect: text }: Catalogue): Html | false {
  const { watch, target } = data;
  if (watch === undefined) return false;
  const { by, path, requests, hasArrived, isRefused } = watch;
  const isWaiting = !hasArrived && !isRefused;
  const isEarlier = by === 'key' && requests > 0;
  const again = <Link href={samePath(data)}>{text.lookAgain}</Link>;
  return (
    <>
      <div
        class="connect-seen"
        id="seen"
        data-look={path}
        data-seen={String(requests)}
        aria-live="polite"
      >
        <p class="connect-waiting" hidden={!isWaiting}>
          <Icon name="clock" />
          <span>{isEarlier ? text.seenBefore(requests) : text.waiting[by]}</span>
        </p>
        <p class="connect-refused" hidden={hasArrived || !isRefused}>
          <Icon name="alert" />
          <span>{text.refused}</span>
        </p>
        <p class="connect-arrived" hidden={!hasArrived}>
          <Icon name="check" />
          <span>{text.arrived}</span>
        </p>
        <p class="connect-late" hidden>
          <span>
            {text.waitedLong} {again}
          </span>
        </p>
        {!hasArrived && (
          <noscript>
            <p>{again}</p>
          </noscript>
        )}
      </div>
      {by === 'mark' && (
        <p class="field-hint">{text.aboutMark[target.integration === 'dns' ? 'dns' : 'query']}</p>
      )}
    </>
  );
}

function placeTitle({ place }: ConnectStep, { connect: text }: Catalogue): string {
  return typeof place === 'string' ? text.places[place] : place.file;
}

function stepList(data: ConnectData, text: Catalogue): Html {
  const steps = data.target.steps(data.filling);
  return (
    <ol class="connect-steps">
      {steps.map((step, i) => {
        const title = placeTitle(step, text);
        const label = `${text.connect.step(i + 1)}: ${title}`;
        return (
          <li>
            <CodeBlock id={step.id} title={title} label={label} code={step.code} text={text} />
          </li>
        );
      })}
    </ol>
  );
}

export function connectPage(frame: PageFrame, data: ConnectData): string {
  const text = frameText(frame);
  const { connect } = text;
  const { target, isOpen } = data;
  const integration = connect.integrations[target.integration];
  const oldHttp = Object.entries(connect.oldHttp).find(([name]) => name === target.name)?.[1];
  return renderDocument(
    { ...frame, current: 'connect' },
    {
      title: connect.pageTitle(target.title),
      description: integration.text,
      className: 'page-connect',
      script: 'connect.js',
      body: (
        <div class="wrap stack">
          <div class="section-intro page-intro">
            <p>
              <Link href={connectPath}>{connect.title}</Link>
            </p>
            <h1>{target.title}</h1>
            <p class="lede">{integration.text}</p>
          </div>
          {!isOpen && (
            <Notice tone="warning">
              {connect.closed[target.integration === 'dns' ? 'dns' : 'spoe']}
            </Notice>
          )}
          {aboutKey(data, text)}
          {choices(data, text)}
          {stepList(data, text)}
          {seenBox(data, text)}
          <Card title={connect.moreTitle} icon="info">
            <p>{integration.note}</p>
            {oldHttp !== undefined && <p>{oldHttp}</p>}
            <p>
              <LinkButton label={connect.more} href={data.docs} kind="secondary" />
            </p>
          </Card>
        </div>
      ),
    },
  );
}
