/** `npm run generate`: writes the files that are generated from the contracts and the settings. */
import { mkdir, writeFile } from 'node:fs/promises';

import { createOpenapiDocument } from '../gateway/http/openapi.ts';
import { renderCatalogue } from './catalogue.ts';
import { renderChart, renderNatsChartValues } from './chart.ts';
import { renderEnvExample, renderNatsConf } from './generated.ts';
import {
  renderAlertRules,
  renderDashboard,
  renderMetricsPage,
  renderPrometheusConfig,
} from './monitoring.ts';

const root = new URL('../', import.meta.url);
await writeFile(new URL('deploy/nats.conf', root), renderNatsConf());
await writeFile(new URL('.env.example', root), renderEnvExample());
await writeFile(
  new URL('docs/openapi.json', root),
  `${JSON.stringify(createOpenapiDocument(), null, 2)}\n`,
);
await writeFile(new URL('docs/services.md', root), renderCatalogue());
await writeFile(new URL('docs/reference/metrics.md', root), renderMetricsPage());
await writeFile(new URL('deploy/monitoring/alerts.yml', root), renderAlertRules());
await writeFile(new URL('deploy/monitoring/dashboard.json', root), renderDashboard());
await writeFile(new URL('deploy/monitoring/prometheus.yml', root), renderPrometheusConfig());
await mkdir(new URL('deploy/helm/templates', root), { recursive: true });
for (const [path, text] of renderChart()) {
  await writeFile(new URL(`deploy/helm/${path}`, root), text);
}
await writeFile(new URL('deploy/nats-chart-values.yaml', root), renderNatsChartValues());
