/**
 * What `xdg-open` starts at a test's desk: a browser that signs in, allows what a client asks
 * for and follows the answer to the client's own listener.
 *
 *   node browser.ts GATEWAY EMAIL PASSWORD LOG ADDRESS
 */
import { appendFile } from 'node:fs/promises';

import { openBrowser } from '../support/oauth-browser.ts';

const [gateway = '', email = '', password = '', log = '', address = ''] = process.argv.slice(2);
await appendFile(log, `${address}\n`);
const answer = await openBrowser(gateway, { account: { email, password } }).authorize(address);
const page = await fetch(answer);
await page.text();
