import { blankAuditEntry } from '#contracts/audit';
import type { Transaction } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { failingSecondsMax, nextAttemptInSeconds, parseRetryAfter } from '../domain/schedule.ts';
import { signedHeaders } from '../domain/signature.ts';
import { judge } from '../domain/verdict.ts';
import type { Verdict } from '../domain/verdict.ts';
import {
  claimDue,
  failOpenDeliveries,
  finishDelivery,
  releaseHeld,
} from '../repository/delivery.ts';
import type { DueDelivery } from '../repository/delivery.ts';
import {
  activateWebhook,
  disableWebhook,
  lockWebhook,
  markFailing,
  markHealthy,
} from '../repository/webhook.ts';

const attemptTimeoutMs = 15_000;
/** Longer than an attempt can take, so that two processes never make the same one. */
const leaseSeconds = 30;
const batchMax = 32;
const perWebhookMax = 8;
const answerBytesMax = 64 * 1024;

interface Attempt {
  readonly verdict: Verdict;
  readonly statusCode: number | null;
  readonly retryAfter: number | null;
}

/** Makes every attempt that is due now; returns how many there were. */
export async function sendDeliveries(deps: Deps): Promise<number> {
  const due = await claimDue(deps.db, { limit: batchMax, perWebhook: perWebhookMax, leaseSeconds });
  await Promise.all(
    due.map(async (delivery) => {
      const attempt = await send(deps, delivery);
      await settle(deps, delivery, attempt);
    }),
  );
  return due.length;
}

async function send(deps: Deps, delivery: DueDelivery): Promise<Attempt> {
  const nowMs = Date.now();
  try {
    const answer = await deps.egress.request({
      method: 'POST',
      url: delivery.url,
      headers: signedHeaders({
        secret: deps.webhookSecret(delivery.webhookId),
        timestampSeconds: Math.floor(nowMs / 1000),
        body: delivery.body,
        type: delivery.type,
        deliveryId: delivery.id,
        orgId: delivery.orgId,
      }),
      body: Buffer.from(delivery.body),
      totalTimeoutMs: attemptTimeoutMs,
      maxBytes: answerBytesMax,
      overflow: 'truncate',
    });
    const header = answer.headers.find(([name]) => name.toLowerCase() === 'retry-after')?.[1];
    return {
      statusCode: answer.status,
      retryAfter: parseRetryAfter(header, nowMs),
      verdict: judge({
        status: answer.status,
        body: Buffer.from(answer.body).toString('utf8'),
        challenge: delivery.type === 'webhook.verification' ? delivery.challenge : null,
      }),
    };
  } catch (thrown) {
    const error = AppError.from(thrown);
    if (error.code === 'internal') deps.logger.error({ err: thrown }, 'delivery attempt failed');
    return {
      statusCode: null,
      retryAfter: null,
      verdict: { kind: 'failed', error: `${error.code}: ${error.message}` },
    };
  }
}

async function settle(deps: Deps, delivery: DueDelivery, attempt: Attempt): Promise<void> {
  const { orgId, webhookId } = delivery;
  const { verdict } = attempt;
  await deps.db.transaction(async (tx) => {
    if (!(await lockWebhook(tx, { orgId, id: webhookId }))) return;
    const inSeconds =
      verdict.kind === 'failed'
        ? nextAttemptInSeconds({
            attempts: delivery.attempts,
            random: Math.random(),
            retryAfter: attempt.retryAfter,
          })
        : null;
    const isCurrent = await finishDelivery(tx, {
      orgId,
      id: delivery.id,
      attempts: delivery.attempts,
      status:
        verdict.kind === 'delivered' ? 'delivered' : inSeconds === null ? 'failed' : 'pending',
      inSeconds,
      statusCode: attempt.statusCode,
      error: verdict.kind === 'delivered' ? null : describe(verdict),
    });
    if (!isCurrent) return;

    if (verdict.kind === 'gone') return disable(tx, delivery, 'The endpoint answered 410 Gone.');
    if (verdict.kind === 'failed') {
      const failingSeconds = await markFailing(tx, { orgId, id: webhookId });
      if (failingSeconds > failingSecondsMax) {
        await disable(tx, delivery, 'Every delivery has failed for 5 days.');
      }
      return;
    }
    await markHealthy(tx, { orgId, id: webhookId });
    if (delivery.type !== 'webhook.verification') return;
    if (await activateWebhook(tx, { orgId, id: webhookId })) {
      await releaseHeld(tx, { orgId, webhookId });
      await appendEvent(tx, {
        type: 'webhook.changed',
        orgId,
        audience: [],
        data: { webhook_id: webhookId, status: 'active' },
        audit: blankAuditEntry(`Webhook ${webhookId} was verified by its endpoint`),
      });
    }
  });
}

async function disable(tx: Transaction, delivery: DueDelivery, reason: string): Promise<void> {
  const { orgId, webhookId } = delivery;
  if (!(await disableWebhook(tx, { orgId, id: webhookId, reason }))) return;
  await failOpenDeliveries(tx, { orgId, webhookId, error: reason });
  await appendEvent(tx, {
    type: 'webhook.disabled',
    orgId,
    audience: [],
    data: { webhook_id: webhookId, reason },
    audit: blankAuditEntry(`Webhook ${webhookId} was disabled: ${reason}`),
  });
}

function describe(verdict: Verdict): string {
  if (verdict.kind === 'gone') return 'The endpoint answered 410 Gone.';
  return verdict.kind === 'failed' ? verdict.error : '';
}
