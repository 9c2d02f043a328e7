/**
 * The program that a test's `xdg-open` starts instead of a browser: it signs in, allows the
 * client's request, and follows the redirect to the client's own HTTP listener.
 *
 *   node browser.ts GATEWAY EMAIL PASSWORD LOG ADDRESS
 */
import { appendFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import { openBrowser } from '../support/oauth-browser.ts';

const [gateway = '', email = '', password = '', log = '', address = ''] = process.argv.slice(2);
await appendFile(log, `${address}\n`);
const callbackUrl = await openBrowser(gateway, { account: { email, password } }).authorize(address);
for (let attempt = 1; ; attempt += 1) {
  try {
    const page = await fetch(callbackUrl);
    await page.text();
    break;
  } catch (error) {
    // Some clients open the browser before they listen for the redirect. This browser is faster
    // than a person, so it tries again.
    if (attempt === 100) throw error;
    await sleep(200);
  }
}
