import { stemOf } from './search-stem.ts';

/**
 * Products that people act on by name. A query that names one of them, and no service that is
 * searched, asks for something that the services do not have: `create an incident in ServiceNow` is
 * not answered by another product's incidents. Names that are common words, such as Monday or Front,
 * are left out, because they would hide what a query is about.
 */
const productNames = `
  hashicorp oracle relic
  1password activecampaign activemq adyen airbnb airbyte aircall airflow alexa alibaba amplitude ansible
  anthropic appstore argocd artifactory aws azure bamboohr basecamp bigcommerce bigquery billcom bitwarden
  bmc boomi braintree brevo browserstack buildkite calendly canva cassandra celonis chargebee checkmk cisco
  citrix clearbit clickhouse clickup cloudfront cloudwatch cohere confluent constantcontact contentful
  convertkit crowdstrike cyberark dagster databricks datev dbt deliveroo dialpad docusign doordash drupal
  dynamodb dynatrace ebay ec2 elasticsearch eloqua entra esxi etsy evernote expedia expensify facebook
  firebase firehydrant firestore fivetran flagsmith fluxcd flyio fortigate fortinet freshbooks freshdesk
  freshservice freshworks gcp gerrit gitea gocardless gocd gorgias gotomeeting grubhub hashicorp hellosign
  helpscout heroku hetzner honeycomb huggingface instacart instagram intune invision istio ivanti jamf
  juniper kafka kandji kayako keycloak kibana klarna klaviyo lastpass launchdarkly lexoffice linkedin linode
  livechat logstash looker lyft magento mailchimp mailgun mariadb marketo mattermost meraki metabase
  mikrotik miro mistral mixpanel mongodb mulesoft mysql nagios nessus netflix netsuite newrelic nutanix
  obsidian onedrive onelogin onenote opensearch openshift openstack opentable optimizely paloalto pandadoc
  pardot paypal perforce personio pinecone pingidentity pinterest pipedrive planetscale playstore postgres
  postgresql posthog postmark powerbi powerpoint prestashop proxmox pulumi qlik qualys quickbooks rabbitmq
  rapid7 rds recurly reddit redis redshift revolut ringcentral rippling rocketchat roomba rootly sagemaker
  salesloft saltstack sap saucelabs selenium sendinblue sentinelone servicenow sharepoint skype smartsheet
  snapchat snowflake snyk sonarqube sonos sparkpost splunk spotify squarespace statuspage strapi subversion
  successfactors sugarcrm supabase superset tableau tawk teamcity telegram tenable teradata terraform tesla
  testflight testrail tiktok todoist tripadvisor twitch twitter uber ubiquiti uipath unifi venmo veracode
  victorops vmware vonage vsphere vultr weaviate webex webflow wix woocommerce wordpress workable workato
  workday worldpay wrike xcode xero yammer youtube zabbix zapier zoho zoominfo
`;
export const otherProducts: ReadonlySet<string> = new Set(
  productNames
    .split(/\s+/)
    .filter((name) => name !== '')
    .map(stemOf),
);
