/** The widget as a site has it, from the press of the button on: it asks for a challenge of its own. */
const live = document.querySelector('.captcha-live');
if (live) {
  const button = live.querySelector('button');
  const widget = live.querySelector('[data-sitekey]');
  const said = live.querySelector('[role=status]');
  const command = document.getElementById('captcha-redeem');
  const script = document.createElement('script');
  live.hidden = false;
  button.addEventListener('click', () => {
    button.hidden = true;
    widget.hidden = false;
    widget.tabIndex = -1;
    widget.focus();
    widget.classList.add('portcullis-captcha');
    script.src = '/captcha/widget.js';
    document.head.append(script);
  });
  widget.addEventListener('portcullis-receipt', (event) => {
    command.textContent = command.textContent.replace(/^.*/, `RECEIPT=${event.detail}`);
    said.textContent = said.dataset.done;
  });
}
