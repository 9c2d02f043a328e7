import type { FastifyRequest } from 'fastify';

import { createPage } from '#pages';
import type { Page } from '#pages';
import { doesPreferHtml } from './domain/accepts.ts';

/**
 * Whether a person will read the answer. A browser in which a person opens an address asks for HTML
 * first.
 */
export function isPageLoad({ method, headers }: FastifyRequest): boolean {
  return (method === 'GET' || method === 'HEAD') && doesPreferHtml(headers.accept);
}

/**
 * The page for an address that does not exist. The dashboard shows the same text in
 * `not-found.tsx`.
 */
export function createNoPage(url: string): Page {
  const isOfApi = /^\/(v1|mcp|oauth)([/?]|$)/.test(url);
  return createPage(
    'There is no page at this address',
    `<p>It may have moved, or the link may be cut off or mistyped.</p>
      <a class="button" href="/">Go to Home</a>
      ${isOfApi ? '<p class="quiet last">Addresses that begin like this one are for programs. <a href="/docs">The documentation</a> and <a href="/v1/openapi.json">/v1/openapi.json</a> list them.</p>' : ''}`,
  );
}
