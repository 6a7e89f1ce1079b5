/** The English sentences of the CAPTCHA’s own page. Their type is the catalogue of this module. */

export const en = {
  captcha: {
    title: 'A word that exists only in motion',
    lede: 'Two clouds of dots move in opposite directions. Your eye sees letters where they part; stop the picture, and nothing is left but noise.',
    description:
      'Try the motion CAPTCHA: a word that your eye sees while it moves and that no single frame holds.',
    tryTitle: 'Try it',
    another: 'Another challenge',
    freeze: 'Freeze a frame',
    play: 'Let it move',
    submit: 'Check my answer',
    right: 'Right. A site would let you through now.',
    wrong: 'Not right, or too late. Each challenge takes one answer, so here is another.',
    fresh: 'Here is another challenge.',
    expired: 'This challenge has expired. Ask for another one.',
    howTitle: 'How it works',
    how: [
      'Each frame alone is evenly random. Freeze one and look.',
      'The word is drawn at random for each challenge and never leaves the server before you answer.',
      'A challenge takes one answer and lives for two minutes.',
      'Who cannot see motion can listen instead.',
    ],
    honest:
      'It stops mass automation, not a determined attacker: a program that reads stills reads nothing, but one that follows motion reads nearly every word. A picture that people can read and such a program cannot is impossible. Limits for each browser and network, the reputation of the address and receipts that are good once carry the rest.',
    sitesTitle: 'For your site',
    sitesText:
      'The widget puts a challenge into your form. A solved one leaves a receipt there, and your server redeems it: nothing that a browser says has to be believed.',
    widgetTitle: '1. The form',
    widgetText:
      'A script of under 6 KB, and an element with your site key. The key is public and belongs to your account.',
    widgetCode: 'In your page',
    widgetTry: 'Try the widget here',
    widgetDone: 'The widget brought a receipt. It stands in the command for your server now.',
    widgetNoKey: 'You get a site key from the operator:',
    redeemTitle: '2. Your server',
    redeemText:
      'It asks with an API key of the same account, within 5 minutes and once. Libraries for reCAPTCHA, hCaptcha and Turnstile ask at siteverify: a second question about a receipt is refused there too.',
    redeemCode: 'On your server',
    callsTitle: 'Or the bare calls',
    sitesPoints: [
      'No key is needed. Let the browser fetch the challenge; send token and answer from the server that handles your form.',
      'The picture has 150 by 50 dots: show it at 450 by 150 pixels with image-rendering: pixelated, or as wide as there is room.',
      'Offer the sound beside it, and show the choice first to those who ask for less motion.',
      'A wrong answer costs more than a right one: 60 answers a minute per address, 20 if they are wrong.',
      'The answer is {"ok":true} or {"ok":false}, whatever was wrong.',
    ],
    sitesCode: 'The calls beneath',
  },
};

export type Words = typeof en;
