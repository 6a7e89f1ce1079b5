/**
 * The page on which people try the motion CAPTCHA: a form with a challenge in it, whose picture is open from the
 * start. The page's script shows the widget at work.
 */

import { Card, CodeBlock, Ticks } from '../../web/components/card.tsx';
import { ChallengeField, type ChallengeView } from '../../web/components/challenge.tsx';
import { Button } from '../../web/components/form.tsx';
import type { Html } from '../../web/html.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.tsx';
import { frameText, type Translations } from '../words.ts';

export interface CaptchaPageData {
  /** Base URL of the API, without a slash at the end. */
  readonly secureUrl: string;
  /** Public; undefined where there is none to show the widget with. */
  readonly siteKey?: string | undefined;
  /** Undefined for a client that has asked for too many. */
  readonly challenge?: ChallengeView | undefined;
  /** The result of the attempt that this page responds to. */
  readonly outcome?: 'right' | 'wrong' | undefined;
}

function outcomeText(outcome: CaptchaPageData['outcome'], { captcha: text }: Translations): string {
  if (outcome === undefined) return '';
  return outcome === 'right' ? text.right : text.wrong;
}

function challengeForm(frame: PageFrame, data: CaptchaPageData, text: Translations): Html {
  const { challenge, outcome } = data;
  const said = outcomeText(outcome, text);
  return (
    <form class="card form captcha" action="/captcha/" method="post">
      <h2 class="card-title">{text.captcha.tryTitle}</h2>
      {said !== '' && (
        <p class="captcha-outcome" role="status" data-tone={outcome}>
          {said}
        </p>
      )}
      <ChallengeField frame={frame} challenge={challenge} isOpen />
      {challenge && <Button label={text.captcha.submit} />}
    </form>
  );
}

function howItWorks({ captcha: text }: Translations): Html {
  return (
    <Card title={text.howTitle} icon="info">
      <Ticks points={text.how} />
      <p class="card-note">{text.honest}</p>
    </Card>
  );
}

export function captchaPage(frame: PageFrame, data: CaptchaPageData): string {
  const text = frameText(frame);
  return renderDocument(frame, {
    title: text.captcha.title,
    description: text.captcha.description,
    className: 'page-captcha',
    script: 'captcha.js',
    body: (
      <>
        <div class="wrap stack">
          <div class="section-intro captcha-intro">
            <h1>{text.captcha.title}</h1>
            <p class="lede">{text.captcha.lede}</p>
          </div>
          <div class="columns">
            {challengeForm(frame, data, text)}
            {howItWorks(text)}
          </div>
        </div>
        {captchaForSites(data, text)}
      </>
    ),
  });
}

interface CaptchaForSitesData {
  /** Base URL of the API, without a slash at the end. */
  readonly secureUrl: string;
  /** Undefined where there is none to show the widget with. */
  readonly siteKey?: string | undefined;
}

function widgetCode({ secureUrl, siteKey }: CaptchaForSitesData): string {
  return [
    `<script src="${secureUrl}/captcha/widget.js" async></script>`,
    '',
    '<form method="post" action="/comment">',
    '  …',
    `  <div class="portcullis-captcha" data-sitekey="${siteKey ?? 'pcs_…'}"></div>`,
    '  <button>Send</button>',
    '</form>',
  ].join('\n');
}

/** The page's script puts the receipt that the widget brings into the first line. */
function redeemCode(secureUrl: string): string {
  return [
    'RECEIPT=pcr2.…',
    `curl -s ${secureUrl}/captcha/receipt -H "Key: $KEY" --data-urlencode "receipt=$RECEIPT"`,
    '#\u00a0{"ok":true,"hostname":"shop.example",…}',
    '',
    `curl -s ${secureUrl}/captcha/siteverify -d "secret=$KEY" -d "response=$RECEIPT"`,
    '#\u00a0{"success":false,"error-codes":[…]}',
  ].join('\n');
}

/** To be pasted as it is; what comes back stands in the comments. */
function callsCode(secureUrl: string): string {
  return [
    `URL=${secureUrl}/captcha`,
    `TOKEN=$(curl -s $URL/new | cut -d'"' -f4)`,
    '#\u00a0{"token":"…","img":"/captcha/img/….gif",…}',
    '',
    'curl -s -o word.gif $URL/img/$TOKEN.gif',
    'curl -s -o digits.wav $URL/audio/$TOKEN.wav',
    '',
    'curl -s $URL/verify -d token=$TOKEN -d answer=KX7R',
    '#\u00a0{"ok":false}',
  ].join('\n');
}

/** Shown by the page's script, and loaded at the press of the button: it costs a challenge. */
function liveWidget(siteKey: string | undefined, { captcha: text }: Translations): Html {
  if (siteKey === undefined) {
    return (
      <p class="field-hint">
        {text.widgetNoKey} <code>portcullis sitekey create</code>
      </p>
    );
  }
  return (
    <div class="captcha-live" hidden>
      <button class="button button-secondary" type="button">
        {text.widgetTry}
      </button>
      <div data-sitekey={siteKey} hidden />
      <p role="status" data-done={text.widgetDone} />
    </div>
  );
}

function captchaForSites(data: CaptchaForSitesData, text: Translations): Html {
  const { captcha } = text;
  const { secureUrl, siteKey } = data;
  const code = (id: string, title: string, lines: string) => (
    <CodeBlock id={id} title={title} code={lines} text={text} />
  );
  return (
    <section class="section section-sunken">
      <div class="wrap">
        <div class="section-intro">
          <h2>{captcha.sitesTitle}</h2>
          <p>{captcha.sitesText}</p>
        </div>
        <div class="captcha-sites">
          <div>
            <h3>{captcha.widgetTitle}</h3>
            <p>{captcha.widgetText}</p>
            {code('captcha-widget', captcha.widgetCode, widgetCode(data))}
            {liveWidget(siteKey, text)}
          </div>
          <div>
            <h3>{captcha.redeemTitle}</h3>
            <p>{captcha.redeemText}</p>
            {code('captcha-redeem', captcha.redeemCode, redeemCode(secureUrl))}
          </div>
          <div>
            <h3>{captcha.callsTitle}</h3>
            <Ticks points={captcha.sitesPoints} />
          </div>
          <div>{code('captcha-calls', captcha.sitesCode, callsCode(secureUrl))}</div>
        </div>
      </div>
    </section>
  );
}
