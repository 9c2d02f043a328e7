/**
 * The alert rules, from which `npm run generate` makes `deploy/monitoring/alerts.yml`. A condition
 * names a metric of `metric-definitions.ts` as `{aag.calls}`.
 */
export interface AlertDefinition {
  readonly name: string;
  /** The condition in PromQL. */
  readonly when: string;
  /** How long the condition must hold, as Prometheus writes durations. */
  readonly lasting: string;
  /** `page`: calls fail or soon will. `ticket`: somebody should look during the day. */
  readonly severity: 'page' | 'ticket';
  readonly summary: string;
}

export const alertDefinitions: readonly AlertDefinition[] = [
  {
    name: 'GatewayAnswersWithErrors',
    when: 'sum(rate({http.server.request.duration}_count{http_response_status_code=~"5.."}[5m])) / sum(rate({http.server.request.duration}_count[5m])) > 0.05',
    lasting: '5m',
    severity: 'page',
    summary: 'More than 5 % of the requests to the gateway end with a 5xx status.',
  },
  {
    name: 'CallsAreNotServed',
    when: 'sum(rate({aag.calls}{outcome=~"unavailable|internal"}[5m])) / sum(rate({aag.calls}[5m])) > 0.05',
    lasting: '5m',
    severity: 'page',
    summary: 'The installation itself makes more than 5 % of the calls fail.',
  },
  {
    name: 'UpstreamsDoNotAnswer',
    when: 'sum({aag.breakers.open}) > 0',
    lasting: '15m',
    severity: 'ticket',
    summary: 'Calls to at least one upstream are paused because it does not answer.',
  },
  {
    name: 'SlotsNearlyUsed',
    when: 'sum by (pool) ({aag.slots.used}) / sum by (pool) ({aag.slots.limit}) > 0.85',
    lasting: '5m',
    severity: 'page',
    summary: 'More than 85 % of the places of {{ $labels.pool }} are taken; start more replicas.',
  },
  {
    name: 'ApprovalsWaitLong',
    when: 'max({aag.approvals.oldest_age}) > 4 * 3600',
    lasting: '5m',
    severity: 'ticket',
    summary: 'An approval has waited for more than four hours.',
  },
  {
    name: 'OutboxIsNotPublished',
    when: 'max by (component) ({aag.outbox.oldest_age}) > 60',
    lasting: '2m',
    severity: 'page',
    summary: 'Events of {{ $labels.component }} have waited for more than a minute.',
  },
  {
    name: 'StreamFills',
    when: 'max by (stream) ({aag.stream.fill}) > 0.5',
    lasting: '1m',
    severity: 'ticket',
    summary: 'The stream {{ $labels.stream }} is more than half full: its reader is behind.',
  },
  {
    name: 'StreamNearlyFull',
    when: 'max by (stream) ({aag.stream.fill}) > 0.8',
    lasting: '1m',
    severity: 'page',
    summary: 'The stream {{ $labels.stream }} is more than 80 % full.',
  },
  {
    name: 'NoMetrics',
    when: 'absent({aag.stream.fill})',
    lasting: '5m',
    severity: 'page',
    summary: 'No gateway reports the fill of the streams.',
  },
  {
    name: 'EventsAreNotRead',
    when: 'max by (consumer) ({aag.consumer.unread_time}) > 60',
    lasting: '1m',
    severity: 'page',
    summary: '{{ $labels.consumer }} has read no event for more than a minute, and some wait.',
  },
  {
    name: 'WebhooksFail',
    when: 'sum(rate({aag.webhook.attempts}{outcome!="delivered"}[15m])) / sum(rate({aag.webhook.attempts}[15m])) > 0.5',
    lasting: '15m',
    severity: 'ticket',
    summary: 'More than half of the attempts to deliver webhooks fail.',
  },
  {
    name: 'WebhooksAreLate',
    when: 'max({aag.webhook.lag}) > 300',
    lasting: '5m',
    severity: 'ticket',
    summary: 'A delivery to a webhook is more than five minutes late.',
  },
  {
    name: 'DatabasePoolIsUsedUp',
    when: 'max by (db_client_connection_pool_name) ({db.client.connection.pending_requests}) > 0',
    lasting: '5m',
    severity: 'ticket',
    summary:
      'Statements of {{ $labels.db_client_connection_pool_name }} wait for a connection; raise DATABASE_CONNECTIONS_MAX.',
  },
  {
    name: 'ComponentIsNotReady',
    when: 'max by (component, check) ({aag.check.failing}) > 0',
    lasting: '1m',
    severity: 'page',
    summary: 'A replica of {{ $labels.component }} is not ready: {{ $labels.check }}.',
  },
  {
    name: 'EventLoopIsBlocked',
    when: 'max by (instance) ({nodejs.eventloop.delay}{quantile="0.99"}) > 0.5',
    lasting: '5m',
    severity: 'ticket',
    summary: 'The process {{ $labels.instance }} answers late because it computes too much.',
  },
];
