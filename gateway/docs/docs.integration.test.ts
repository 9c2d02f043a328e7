import { readdirSync } from 'node:fs';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { httpRoutes } from '#contracts/all';
import type { RouteSpec } from '#contracts/http/define';
import { createStage } from '../neighbours.testing.ts';
import type { Stage } from '../neighbours.testing.ts';
import type { RunningGateway } from '../start.ts';
import { createLibrary, servedFiles } from './library.ts';

const { pages } = createLibrary();

let stage: Stage;
let gateway: RunningGateway;
beforeAll(async () => {
  stage = await createStage();
  gateway = await stage.gateway();
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

async function load(path: string, init: RequestInit = {}) {
  const response = await fetch(new URL(path, gateway.url), {
    redirect: 'manual',
    headers: { accept: 'text/html,*/*;q=0.8' },
    ...init,
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** The link addresses and the anchors in the text of a page. */
function readPage(html: string) {
  const main = html.slice(html.indexOf('<main'));
  return {
    links: [...main.matchAll(/<a href="([^"]*)"/g)].map(([, link = '']) => link),
    anchors: new Set([...main.matchAll(/ id="([^"]*)"/g)].map(([, id = '']) => id)),
  };
}

describe('the documentation', () => {
  test('has an HTML page at each address, with no scripts and with a policy that forbids scripts', async () => {
    for (const { address } of [{ address: '/docs' }, ...pages]) {
      const { status, headers, text } = await load(address);

      expect(status, address).toBe(200);
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; img-src 'self'; style-src 'sha256-[^']+'; /,
      );
      expect(text).toMatch(/<h1>[^<]+<\/h1>/);
      expect(text).not.toMatch(/<script|<img|style="|\son\w+="/i);
    }
  });

  test('links only to pages and headings that exist', async () => {
    const anchorsByAddress = new Map<string, ReadonlySet<string>>();
    const links: { from: string; link: string }[] = [];
    for (const address of ['/docs', ...pages.map((page) => page.address)]) {
      const page = readPage((await load(address)).text);
      anchorsByAddress.set(address, page.anchors);
      links.push(...page.links.map((link) => ({ from: address, link })));
    }
    const otherAddresses = new Set([
      '/llms.txt',
      '/v1/openapi.json',
      ...pages.map((page) => page.twinAddress),
    ]);
    const isDead = ({ from, link }: { from: string; link: string }) => {
      if (/^https?:/.test(link)) return false;
      const [path = '', anchor] = link.split('#');
      const address = path === '' ? from : path;
      if (otherAddresses.has(address)) return false;
      const anchors = anchorsByAddress.get(address);
      return anchors === undefined || (anchor !== undefined && !anchors.has(anchor));
    };

    expect(links.length).toBeGreaterThan(500);
    expect(links.filter(isDead)).toEqual([]);
  });

  test('has no page on which two headings have the same anchor', async () => {
    for (const { address } of pages) {
      const { text } = await load(address);
      const ids = [...text.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);

      expect(ids.length, address).toBe(new Set(ids).size);
    }
  });

  test('has each page also as Markdown, which links only to Markdown pages that exist', async () => {
    const twins = new Set(pages.map(({ twinAddress }) => twinAddress));
    for (const { twinAddress } of pages) {
      const { status, headers, text } = await load(twinAddress);

      expect(status, twinAddress).toBe(200);
      expect(headers.get('content-type')).toBe('text/markdown; charset=utf-8');
      expect(text).toMatch(/^# /);
      const prose = text.replaceAll(/^```.*?^```|`[^`\n]*`/gms, '');
      for (const [, link = ''] of prose.matchAll(/\]\(([^()\s]+)\)/g)) {
        const { origin, pathname } = new URL(link, new URL(twinAddress, gateway.url));
        if (origin !== new URL(gateway.url).origin || pathname === '/v1/openapi.json') continue;
        expect(twins, `${link} in ${twinAddress}`).toContain(pathname);
      }
    }
  });

  test('lists every Markdown page in /llms.txt with its full URL', async () => {
    const { status, headers, text } = await load('/llms.txt');
    const listed = [...text.matchAll(/^- \[[^\]]+\]\(([^)]+)\): \S/gm)].map(
      ([, link = '']) => link,
    );

    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(text).toMatch(/^# Agent Action Gateway\n\n> /);
    expect(listed.toSorted()).toEqual(
      pages.map(({ twinAddress }) => new URL(twinAddress, gateway.url).href).toSorted(),
    );
  });

  test('describes every operation, each with an example request', () => {
    const text = pages
      .filter(({ address }) => address.startsWith('/docs/rest/'))
      .map(({ markdown }) => markdown())
      .join('\n');

    const routes: readonly RouteSpec[] = Object.values(httpRoutes);
    for (const { method, path } of routes) expect(text).toContain(`\n\`${method} ${path}\`\n`);
    expect(text.match(/^curl /gm)?.length).toBeGreaterThanOrEqual(routes.length);
  });

  test('contains every Markdown file of docs/, docs/guides/ and docs/reference/', () => {
    const namesIn = (folder: string, prefix: string) =>
      readdirSync(new URL(`../../docs/${folder}`, import.meta.url))
        .filter((name) => name.endsWith('.md'))
        .map((name) => `${prefix}${name}`);

    expect(Object.keys(servedFiles).toSorted()).toEqual(
      [
        ...namesIn('', ''),
        ...namesIn('guides', 'guides/'),
        ...namesIn('reference', 'reference/'),
      ].toSorted(),
    );
  });

  test.for([
    '/docs/',
    '/docs/nothing',
    '/docs/nothing.md',
    '/docs/reference/README',
    '/docs/adr/0001-one-package.md',
    '/docs/..%2fpackage.json',
    '/docs/%2e%2e/package.json',
    '/docs/reference/..%2f..%2fREADME.md',
    '/docs/openapi.json',
  ])('has nothing at %s', async (path) => {
    expect((await load(path)).status).toBe(404);
  });

  test('answers HEAD requests, and refuses POST requests', async () => {
    expect(await load('/docs/cli', { method: 'HEAD' })).toMatchObject({ status: 200, text: '' });
    const { status, headers } = await load('/docs/cli.md', { method: 'POST' });
    expect(status).toBe(405);
    expect(headers.get('allow')).toBe('GET, HEAD');
  });
});
