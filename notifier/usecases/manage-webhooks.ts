import { randomBytes } from 'node:crypto';

import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';

import { blankAuditEntry } from '#contracts/audit';
import type { AuditEntry } from '#contracts/audit';
import type {
  Delivery,
  Webhook,
  createWebhookBody,
  createdWebhook,
} from '#contracts/http/webhooks';
import type { Principal } from '#contracts/vocabulary';
import { pageOf, parseSingleCursor, positions } from '#database';
import type { Page, PageRequest, Sql, Transaction } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { subtreeOf } from '../domain/access.ts';
import { defaultEvents, unknownEvents } from '../domain/subscription.ts';
import { insertDelivery, listDeliveries, restartDelivery } from '../repository/delivery.ts';
import {
  countWebhooks,
  deleteWebhook,
  findWebhook,
  getChallenge,
  insertWebhook,
  listWebhooks,
  reopenWebhook,
} from '../repository/webhook.ts';

const webhooksPerOrgMax = 100;
/** Part of the org's webhooks that one user may have, so that one user cannot take all of them. */
const webhooksPerUserMax = 25;

/** Subscribes an endpoint and starts its handshake. The secret is in this answer only. */
export async function createWebhook(
  deps: Deps,
  { principal: signed, body }: { principal: string; body: z.infer<typeof createWebhookBody> },
): Promise<z.infer<typeof createdWebhook>> {
  const principal = deps.readPrincipal(signed);
  const owner = subtreeOf(principal, 'write');
  const events = body.events ?? defaultEvents;
  checkUrl(body.url);
  const unknown = unknownEvents(events);
  if (unknown.length > 0) {
    throw new AppError('invalid_params', `No subscriber can see ${unknown.join(', ')}.`, {
      details: { issues: [{ path: 'events', message: 'unknown event type' }] },
    });
  }
  const id = uuidv7();
  const webhook = await deps.db.transaction(async (tx) => {
    refuseMore(await countWebhooks(tx, { orgId: principal.orgId, subtreeOf: owner }));
    const stored = await insertWebhook(tx, {
      id,
      orgId: principal.orgId,
      subtreeOf: owner,
      url: body.url,
      events,
      description: body.description ?? null,
      challenge: randomBytes(24).toString('base64url'),
      createdBy: principal.identityId,
    });
    await queueHandshake(tx, principal, id);
    await announce(tx, principal, { type: 'webhook.created', id, what: `Subscribed ${body.url}` });
    return stored.webhook;
  });
  deps.wakeDeliveries();
  return { ...webhook, secret: deps.webhookSecret(id) };
}

function refuseMore({ all, own }: { all: number; own: number }): void {
  if (all >= webhooksPerOrgMax) {
    throw new AppError('conflict', `An org has at most ${webhooksPerOrgMax} webhooks.`);
  }
  if (own >= webhooksPerUserMax) {
    throw new AppError(
      'conflict',
      `A member has at most ${webhooksPerUserMax} webhooks; delete one that is not needed any more.`,
    );
  }
}

export async function listOwnWebhooks(
  { db, readPrincipal }: Deps,
  { principal: signed, page }: { principal: string; page: PageRequest },
): Promise<Page<Webhook>> {
  const principal = readPrincipal(signed);
  const rows = await listWebhooks(db, {
    orgId: principal.orgId,
    subtreeOf: subtreeOf(principal, 'read'),
    before: parseSingleCursor(page.cursor, positions.id),
    limit: page.limit + 1,
  });
  const webhooks = rows.map(({ webhook }) => webhook);
  return pageOf(webhooks, page.limit, ({ id }) => [id]);
}

export async function getWebhook(
  { db, readPrincipal }: Deps,
  { principal: signed, id }: { principal: string; id: string },
): Promise<Webhook> {
  return getOwn(db, { principal: readPrincipal(signed), id, purpose: 'read' });
}

export async function removeWebhook(
  { db, readPrincipal }: Deps,
  { principal: signed, id }: { principal: string; id: string },
): Promise<void> {
  const principal = readPrincipal(signed);
  await db.transaction(async (tx) => {
    const webhook = await getOwn(tx, { principal, id, purpose: 'write' });
    await deleteWebhook(tx, { orgId: principal.orgId, id });
    await announce(tx, principal, { type: 'webhook.deleted', id, what: `Ended ${webhook.url}` });
  });
}

/** Sends the handshake again; a disabled subscription starts over with it. */
export async function verifyWebhook(
  deps: Deps,
  { principal: signed, id }: { principal: string; id: string },
): Promise<Webhook> {
  const principal = deps.readPrincipal(signed);
  const webhook = await deps.db.transaction(async (tx) => {
    const before = await getOwn(tx, { principal, id, purpose: 'write' });
    if (before.status === 'active') return before;
    await reopenWebhook(tx, { orgId: principal.orgId, id });
    await queueHandshake(tx, principal, id);
    await announce(tx, principal, { type: 'webhook.changed', id, what: `Verifying ${before.url}` });
    return getOwn(tx, { principal, id, purpose: 'write' });
  });
  deps.wakeDeliveries();
  return webhook;
}

export async function listWebhookDeliveries(
  { db, readPrincipal }: Deps,
  { principal: signed, id, page }: { principal: string; id: string; page: PageRequest },
): Promise<Page<Delivery>> {
  const principal = readPrincipal(signed);
  await getOwn(db, { principal, id, purpose: 'read' });
  const rows = await listDeliveries(db, {
    orgId: principal.orgId,
    webhookId: id,
    before: parseSingleCursor(page.cursor, positions.id),
    limit: page.limit + 1,
  });
  return pageOf(rows, page.limit, (delivery) => [delivery.id]);
}

export async function redeliver(
  deps: Deps,
  { principal: signed, id, deliveryId }: { principal: string; id: string; deliveryId: string },
): Promise<Delivery> {
  const principal = deps.readPrincipal(signed);
  const delivery = await deps.db.transaction(async (tx) => {
    const webhook = await getOwn(tx, { principal, id, purpose: 'write' });
    const restarted = await restartDelivery(tx, {
      orgId: principal.orgId,
      webhookId: id,
      id: deliveryId,
    });
    if (!restarted) throw new AppError('not_found', 'There is no such delivery.');
    await announce(tx, principal, {
      type: 'webhook.changed',
      id,
      what: `Sending a delivery to ${webhook.url} again`,
    });
    return restarted;
  });
  deps.wakeDeliveries();
  return delivery;
}

/** The handshake is a delivery like any other, but one whose answer must be the challenge. */
async function queueHandshake(tx: Transaction, principal: Principal, id: string): Promise<void> {
  const challenge = await getChallenge(tx, { orgId: principal.orgId, id });
  const deliveryId = uuidv7();
  await insertDelivery(tx, {
    id: deliveryId,
    orgId: principal.orgId,
    webhookId: id,
    eventId: deliveryId,
    type: 'webhook.verification',
    body: JSON.stringify({
      id: deliveryId,
      type: 'webhook.verification',
      created_at: new Date().toISOString(),
      org_id: principal.orgId,
      data: { challenge },
    }),
    status: 'pending',
  });
}

async function getOwn(
  sql: Sql,
  { principal, id, purpose }: { principal: Principal; id: string; purpose: 'read' | 'write' },
): Promise<Webhook> {
  const owner = subtreeOf(principal, purpose);
  const found = await findWebhook(sql, { orgId: principal.orgId, id });
  if (!found || (owner !== null && found.subtreeOf !== owner)) {
    throw new AppError('not_found', 'There is no such webhook.');
  }
  return found.webhook;
}

/** Whether the host may be reached is the egress guard's to say, at each attempt. */
function checkUrl(text: string): void {
  const url = new URL(text);
  if (!['https:', 'http:'].includes(url.protocol) || url.username || url.password || url.hash) {
    throw new AppError('invalid_params', 'Give an https URL without user, password and fragment.', {
      details: { issues: [{ path: 'url', message: 'is not a URL a webhook can have' }] },
    });
  }
}

async function announce(
  tx: Transaction,
  principal: Principal,
  {
    type,
    id,
    what,
  }: { type: 'webhook.created' | 'webhook.changed' | 'webhook.deleted'; id: string; what: string },
): Promise<void> {
  const audit: AuditEntry = {
    ...blankAuditEntry(what),
    user_id: principal.userId,
    identity: {
      id: principal.identityId,
      kind: principal.kind,
      name: principal.chain.at(-1)?.name ?? '',
      path: principal.chain.map(({ name }) => name),
    },
    credential: {
      kind: principal.credential.kind,
      id: principal.credential.id,
      client_id: principal.credential.clientId,
    },
  };
  await appendEvent(tx, {
    type,
    orgId: principal.orgId,
    audience: principal.chain.map((link) => link.id),
    data: { webhook_id: id },
    audit,
  });
}
