/**
 * The part of the CAPTCHA page for developers: the whole round of a site. The widget in a form, live
 * where there is a site key to show it with; the receipt redeemed; and the calls beneath.
 */

import { CodeBlock } from '../../web/components/code-block.tsx';
import { Icon } from '../../web/components/icon.tsx';
import type { Html } from '../../web/html.ts';
import type { Catalogue } from '../words.ts';

export interface CaptchaForSitesData {
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
    '# {"ok":true,"hostname":"shop.example","origin":"https://shop.example",…}',
    '',
    `curl -s ${secureUrl}/captcha/siteverify -d "secret=$KEY" -d "response=$RECEIPT"`,
    '# {"success":false,"error-codes":["timeout-or-duplicate"]}',
  ].join('\n');
}

/** To be pasted as it is; what comes back stands in the comments. */
function callsCode(secureUrl: string): string {
  return [
    `URL=${secureUrl}/captcha`,
    `TOKEN=$(curl -s $URL/new | cut -d'"' -f4)`,
    '# {"token":"…","img":"/captcha/img/….gif","expires_in":120}',
    '',
    'curl -s -o word.gif $URL/img/$TOKEN.gif',
    'curl -s -o digits.wav $URL/audio/$TOKEN.wav',
    '',
    'curl -s $URL/verify -d token=$TOKEN -d answer=KX7R',
    '# {"ok":false}',
  ].join('\n');
}

/** Shown by the page's script, and loaded at the press of the button: it costs a challenge. */
function liveWidget(siteKey: string | undefined, { captcha: text }: Catalogue): Html {
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
      <div class="card" data-sitekey={siteKey} hidden />
      <p role="status" data-done={text.widgetDone} />
    </div>
  );
}

export function captchaForSites(data: CaptchaForSitesData, text: Catalogue): Html {
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
            <ul class="ticks">
              {captcha.sitesPoints.map((point) => (
                <li>
                  <Icon name="check" />
                  <span>{point}</span>
                </li>
              ))}
            </ul>
          </div>
          <div>{code('captcha-calls', captcha.sitesCode, callsCode(secureUrl))}</div>
        </div>
      </div>
    </section>
  );
}
