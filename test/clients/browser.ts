/**
 * What `xdg-open` starts at a test's desk: a browser that signs in, allows what a client asks
 * for and follows the answer to the client's own listener.
 *
 *   node browser.ts GATEWAY EMAIL PASSWORD LOG ADDRESS
 */
import { appendFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import { openBrowser } from '../support/oauth-browser.ts';

const [gateway = '', email = '', password = '', log = '', address = ''] = process.argv.slice(2);
await appendFile(log, `${address}\n`);
const answer = await openBrowser(gateway, { account: { email, password } }).authorize(address);
for (let attempt = 1; ; attempt += 1) {
  try {
    const page = await fetch(answer);
    await page.text();
    break;
  } catch (error) {
    // Some clients send the browser off before they listen: no person is as fast as this one.
    if (attempt === 100) throw error;
    await sleep(200);
  }
}
