import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { isOpenApproval } from '#contracts/approval-status';
import { decisionWords } from '#contracts/decision-words';
import type { Move } from '#contracts/decision-words';
import type { ApprovalResponse, ResolveApprovalBody } from '#contracts/http/approvals';
import type { Connection } from '#contracts/http/connections';
import type { Me } from '#contracts/http/identities';
import type { Rule } from '#contracts/http/rules';
import type { Secret } from '#contracts/http/secrets';
import type { KeyExplanation } from '../../dashboard/src/features/approvals/explain/explain.queries.ts';
import { ann } from './fixtures.testing.ts';

const distFolder = fileURLToPath(new URL('../../dashboard/dist/', import.meta.url));
const mediaTypes: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};

/**
 * Serves the built dashboard and simulates the API. So tests can bring the dashboard into states
 * that a real gateway seldom has.
 */
export interface FixtureServer extends AsyncDisposable {
  readonly url: string;
  me: Me | null;
  approvals: ApprovalResponse[];
  /** How many empty pages the list of approvals has before the pages with items. */
  emptyPages: number;
  /**
   * `rules`: the rules that decisions have created. `stoppedRules`: the ids of those that the
   * person has stopped.
   */
  rules: Partial<Rule>[];
  readonly stoppedRules: string[];
  /** The API's explanation of why a person is asked to decide an approval. */
  why: KeyExplanation[];
  /** The accounts and secrets that the person can look up. */
  connections: Partial<Connection>[];
  secrets: Partial<Secret>[];
  /** The answers to other requests, by path. */
  answers: Record<string, object>;
  /**
   * Answers that replace the usual answers. Each is used once, for the next request whose path
   * begins with `path`.
   */
  readonly failures: { path: string; status: number; body?: object }[];
  /** The ids of the approvals whose calls the person has run from the page. */
  readonly calls: string[];
  readonly resolutions: (ResolveApprovalBody & { id: string })[];
  /** Runs just before the server handles the next decision. */
  beforeResolve: () => void;
  /**
   * Changes an approval like a decision of another person would, and sends the event about the
   * change.
   */
  changeApproval(id: string, differences: Partial<ApprovalResponse>, type?: string): void;
  addApproval(approval: ApprovalResponse): void;
  sendEvent(type: string, data: object): void;
  /** Closes all event streams. The pages may connect again. */
  cutStreams(): void;
}

export async function startFixtureServer(): Promise<FixtureServer> {
  const streams = new Set<ServerResponse>();
  let position = 0;
  const fixture = {
    me: ann as Me | null,
    approvals: [] as ApprovalResponse[],
    emptyPages: 0,
    rules: [] as Partial<Rule>[],
    stoppedRules: [] as string[],
    why: [] as KeyExplanation[],
    connections: [] as Partial<Connection>[],
    secrets: [] as Partial<Secret>[],
    answers: {} as Record<string, object>,
    failures: [] as { path: string; status: number; body?: object }[],
    resolutions: [] as (ResolveApprovalBody & { id: string })[],
    calls: [] as string[],
    beforeResolve: () => {},
    changeApproval(id: string, differences: Partial<ApprovalResponse>, type = 'approval.resolved') {
      fixture.approvals = fixture.approvals.map((approval) =>
        approval.id === id ? { ...approval, ...differences } : approval,
      );
      fixture.sendEvent(type, { approval_id: id });
    },
    addApproval(approval: ApprovalResponse) {
      fixture.approvals = [approval, ...fixture.approvals];
      fixture.sendEvent('approval.raised', approval);
    },
    sendEvent(type: string, data: object) {
      position += 1;
      const body = { id: String(position), type, created_at: '', org_id: '', data };
      for (const stream of streams) {
        stream.write(`id: ${position}\nevent: ${type}\ndata: ${JSON.stringify(body)}\n\n`);
      }
    },
    cutStreams() {
      for (const stream of streams) stream.destroy();
    },
  };

  const server = createServer((request, response) => {
    void answerRequest(request, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });

  async function answerRequest(
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<unknown> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://fixture');
    if (pathname === '/sign-in') {
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
      return response.end('<!doctype html><html lang="en"><title>Sign in</title><h1>Sign in</h1>');
    }
    if (!pathname.startsWith('/v1/')) return sendFile(pathname, response);
    const at = fixture.failures.findIndex(({ path }) => pathname.startsWith(path));
    const [failure] = at === -1 ? [] : fixture.failures.splice(at, 1);
    if (failure !== undefined) {
      return sendJson(response, failure.status, failure.body ?? errorBodyOf('internal'));
    }
    if (fixture.me === null) return sendJson(response, 401, errorBodyOf('unauthenticated'));
    if (pathname === '/v1/identities/me') return sendJson(response, 200, fixture.me);
    for (const name of ['connections', 'secrets'] as const) {
      const page = { items: fixture[name], next_cursor: null };
      if (pathname === `/v1/${name}`) return sendJson(response, 200, page);
    }
    const answer = fixture.answers[pathname];
    if (answer !== undefined) return sendJson(response, 200, answer);
    if (pathname === '/v1/rules') {
      const items = fixture.rules.filter(
        (rule) => rule.approval_id === searchParams.get('approval_id'),
      );
      return sendJson(response, 200, { items, next_cursor: null });
    }
    if (request.method === 'DELETE') return deleteRule(response, pathname);
    if (pathname === '/v1/sign-out') {
      fixture.me = null;
      return sendJson(response, 204);
    }
    if (pathname === '/v1/events') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('retry: 100\n\n');
      streams.add(response);
      response.once('close', () => streams.delete(response));
      return undefined;
    }
    const [, id, verb] = /^\/v1\/approvals(?:\/([^/]+))?(?:\/(\w+))?$/.exec(pathname) ?? [];
    if (id === undefined) return sendJson(response, 200, listApprovals(searchParams));
    if (verb === 'resolve') fixture.beforeResolve();
    const approval = fixture.approvals.find((each) => each.id === id);
    if (approval === undefined) return sendJson(response, 404, errorBodyOf('not_found'));
    if (verb === 'resolve') {
      const body = JSON.parse(await readText(request)) as ResolveApprovalBody;
      return resolveApproval(response, approval, body);
    }
    if (verb === 'explain') return sendJson(response, 200, { why: fixture.why });
    if (verb === 'call') fixture.calls.push(approval.id);
    return sendJson(response, 200, approval);
  }

  function deleteRule(response: ServerResponse, pathname: string) {
    const id = pathname.slice('/v1/rules/'.length);
    if (!fixture.rules.some((rule) => rule.id === id)) {
      return sendJson(response, 404, errorBodyOf('not_found'));
    }
    fixture.rules = fixture.rules.filter((rule) => rule.id !== id);
    fixture.stoppedRules.push(id);
    return sendJson(response, 204);
  }

  /** One page of the list of approvals. The cursor is a position in the list. */
  function listApprovals(query: URLSearchParams) {
    const matchesFilter = (name: string, value: string) => [null, value].includes(query.get(name));
    const words = (query.get('q') ?? '').toLowerCase();
    const found = fixture.approvals
      .filter((each) => matchesFilter('status', isOpenApproval(each) ? 'open' : 'decided'))
      .filter((each) => matchesFilter('risk', each.risk) && matchesFilter('service', each.service))
      .filter((each) => matchesFilter('requester', each.requester.id))
      .filter((each) => query.get('assigned') === null || each.resolver_id === fixture.me?.id)
      .filter(({ action_description: sentence }) => sentence.toLowerCase().includes(words))
      .toSorted((one, other) => other.created_at.localeCompare(one.created_at));
    if (query.get('sort') === 'oldest') found.reverse();
    const start = Number(query.get('cursor') ?? -fixture.emptyPages);
    if (start < 0) return { items: [], next_cursor: String(start + 1) };
    const end = start + Number(query.get('limit') ?? 50);
    return { items: found.slice(start, end), next_cursor: end < found.length ? String(end) : null };
  }

  function resolveApproval(
    response: ServerResponse,
    approval: ApprovalResponse,
    body: ResolveApprovalBody,
  ) {
    if (!isOpenApproval(approval)) {
      return sendJson(response, 409, errorBodyOf('already_resolved'));
    }
    const { move, remembersFor } = decisionWords[body.resolution];
    const isRefused =
      approval.request.too_large === true &&
      move === 'allow' &&
      (remembersFor !== null || body.acknowledge !== 'too_large');
    if (isRefused) return sendJson(response, 422, errorBodyOf('acknowledgement_required'));
    fixture.resolutions.push({ id: approval.id, ...body });
    fixture.changeApproval(approval.id, changesByMove[move](body));
    return sendJson(
      response,
      200,
      fixture.approvals.find(({ id }) => id === approval.id),
    );
  }

  server.listen(0, '127.0.0.1');
  await new Promise((listening) => server.once('listening', listening));
  return Object.assign(fixture, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  });
}

function errorBodyOf(error: string) {
  return { error, message: `A sentence for ${error}.`, request_id: `request-${error}` };
}

function sendJson(response: ServerResponse, status: number, body?: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}

async function sendFile(pathname: string, response: ServerResponse): Promise<void> {
  const name = extname(pathname) === '' ? 'index.html' : pathname;
  const content = await readFile(join(distFolder, name));
  response.writeHead(200, {
    'content-type': mediaTypes[extname(name)] ?? 'application/octet-stream',
    // The same header as that of the gateway. The name of a file in `assets` contains a hash of its
    // content.
    'cache-control': name.startsWith('/assets/')
      ? 'public, max-age=31536000, immutable'
      : 'no-cache',
    'content-security-policy':
      "default-src 'self'; style-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
  });
  response.end(content);
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** How a decision changes an approval, by the kind of decision. */
const changesByMove: Record<Move, (body: ResolveApprovalBody) => Partial<ApprovalResponse>> = {
  allow: (body) => ({
    ...resolvedFieldsOf(body),
    status: 'allowed',
    resolution: decisionWords[body.resolution].remembersFor === null ? 'allow' : 'allow_remember',
    execution: {
      id: 'e',
      status: 'pending',
      runtime: 'http',
      triggered_by: null,
      created_at: new Date().toISOString(),
      started_at: null,
      finished_at: null,
      expires_at: new Date(Date.now() + 15 * 60_000).toISOString(),
    },
  }),
  deny: (body) => ({ ...resolvedFieldsOf(body), status: 'denied', resolution: 'deny' }),
  bubble: () => ({ status: 'bubbled', resolver_id: ann.id }),
};

function resolvedFieldsOf({ reason }: ResolveApprovalBody): Partial<ApprovalResponse> {
  return {
    reason: reason ?? null,
    resolved_at: new Date().toISOString(),
    resolved_by: { id: ann.id, kind: 'user', name: ann.name, path: ann.path },
  };
}
