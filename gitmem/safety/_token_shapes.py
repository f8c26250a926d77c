"""What the tokens of many services look like, as far as the services document it or it is plain to see.

Data for `gitmem.safety.secrets`. A rule is a kind, what to search for as it is, and a pattern. Where only a
part of what matches is secret, the group `secret` says which. Lengths are generous where a prefix is telling:
services make their tokens longer from time to time.
"""

from __future__ import annotations

# Kind, prefixes, and what follows a prefix. A class that holds `.`, `/` or `+` says that a token cannot
# begin behind one either: no run is read twice.
PREFIXES: tuple[tuple[str, str, str], ...] = (
    # clouds
    ("aws-access-key", "AKIA ASIA ABIA ACCA", "[A-Z0-9]{16}"),
    ("aws-session-token", "FwoGZXIvYXdz IQoJb3JpZ2lu", "[A-Za-z0-9/+]{80,2000}={0,2}"),
    ("aws-bedrock-key", "ABSK bedrock-api-key-", "[A-Za-z0-9+/]{80,400}={0,2}"),
    ("google-api-key", "AIza", "[A-Za-z0-9_-]{35}"),
    ("google-oauth-secret", "GOCSPX-", "[A-Za-z0-9_-]{20,40}"),
    ("google-oauth-token", "ya29. 1//0", "[A-Za-z0-9_.-]{30,1000}"),
    ("azure-key", "AccountKey= SharedAccessKey=", "(?P<secret>[A-Za-z0-9+/]{40,90}={0,2})"),
    ("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", "[a-f0-9]{64}"),
    ("cloudflare-token", "cfut_ cfat_ cfk_", "[A-Za-z0-9_-]{40,80}"),
    ("cloudflare-ca-key", "v1.0-", "[a-f0-9]{24}-[a-f0-9]{100,200}"),
    ("alibaba-key", "LTAI", "[A-Za-z0-9]{16,24}"),
    ("tencent-key", "AKID", "[A-Za-z0-9]{32}"),
    ("flyio-token", "fm1_ fm2_ fm1r_ fm1a_ fo1_", "[A-Za-z0-9_+/-]{40,1000}={0,2}"),
    ("vercel-token", "vcp_ vci_ vca_ vcr_ vck_", "[A-Za-z0-9]{24,100}"),
    ("netlify-token", "nfp_ nfc_ nfo_ nfb_ nfu_", "[A-Za-z0-9]{36,60}"),
    ("supabase-key", "sbp_ sb_secret_", "[A-Za-z0-9_-]{24,100}"),
    ("planetscale-token", "pscale_tkn_ pscale_pw_ pscale_oauth_", "[A-Za-z0-9_.-]{30,80}"),
    ("render-key", "rnd_", "[A-Za-z0-9]{28,50}"),
    # code hosts, builds, packages
    ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", "[A-Za-z0-9]{30,255}"),
    ("github-token", "github_pat_", "[A-Za-z0-9_]{40,255}"),
    (
        "gitlab-token",
        "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- glsoat- glffct- gloas- GR1348941",
        "[A-Za-z0-9_.-]{18,300}",
    ),
    ("bitbucket-token", "ATBB ATCTT3xFfG", "[A-Za-z0-9_-]{24,300}(?:=[A-F0-9]{8})?"),
    ("atlassian-token", "ATATT3xFfG", "[A-Za-z0-9_-]{40,300}(?:=[A-F0-9]{8})?"),
    ("circleci-token", "CCIPAT_ CCIPRJ_", "[A-Za-z0-9_]{30,100}"),
    ("buildkite-token", "bkua_ bkaj_ bkap_ bkpat_", "[a-z0-9]{40}"),
    ("sonar-token", "sqp_ squ_ sqa_", "[a-f0-9]{40}"),
    ("jfrog-token", "AKCp cmVmdGtuOj", "[A-Za-z0-9]{50,80}"),
    ("npm-token", "npm_", "[A-Za-z0-9]{30,80}"),
    ("pypi-token", "pypi-", "[A-Za-z0-9_-]{50,300}"),
    ("rubygems-key", "rubygems_", "[a-f0-9]{48}"),
    ("docker-token", "dckr_pat_ dckr_oat_", "[A-Za-z0-9_-]{20,80}"),
    ("nuget-key", "oy2", "[a-z0-9]{43}"),
    ("cargo-token", "cio", "[A-Za-z0-9]{32}"),
    ("clojars-token", "CLOJARS_", "[a-z0-9]{60}"),
    # operations
    ("vault-token", "hvs. hvb. hvr.", "[A-Za-z0-9_-]{24,300}"),
    ("pulumi-token", "pul-", "[a-f0-9]{40}"),
    ("doppler-token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", "[A-Za-z0-9._-]{40,80}"),
    ("databricks-token", "dapi dose", "[a-f0-9]{32}(?:-[0-9])?"),
    ("dynatrace-token", "dt0c01. dt0s01. dt0s16.", "[A-Z0-9]{8,24}\\.[A-Z0-9]{64}"),
    ("grafana-token", "glsa_ glc_", "[A-Za-z0-9_+/]{32,400}={0,2}"),
    ("newrelic-key", "NRAK- NRAA- NRII- NRJS- NRRA- NRIQ-", "[A-Za-z0-9_-]{19,50}"),
    ("sentry-token", "sntrys_ sntryu_", "[A-Za-z0-9_+/-]{40,400}(?:={1,2}[A-Za-z0-9_+/-]{20,80})?={0,2}"),
    ("tailscale-key", "tskey-", "[a-z]{2,10}-[A-Za-z0-9-]{16,100}"),
    ("heroku-key", "HRKU-", "[A-Za-z0-9_-]{30,80}"),
    ("prefect-key", "pnu_ pnb_", "[A-Za-z0-9]{36}"),
    ("1password-token", "ops_eyJ", "[A-Za-z0-9+/_-]{100,2000}={0,2}"),
    ("1password-key", "A3-", "[A-Z0-9]{6}(?:-[A-Z0-9]{5,11}){4,5}"),
    # messages and mail
    (
        "slack-token",
        "xoxb- xoxp- xoxa- xoxs- xoxr- xoxo- xoxe- xoxc- xoxd- xoxe.xox",
        "[A-Za-z0-9%.-]{20,400}",
    ),
    ("slack-token", "xapp-", "[0-9]-[A-Za-z0-9-]{20,200}"),
    (
        "slack-webhook",
        "hooks.slack.com/",
        "(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9+/]{30,120})",
    ),
    (
        "discord-webhook",
        "discord.com/api/ discordapp.com/api/",
        "(?:v[0-9]{1,2}/)?webhooks/[0-9]{15,21}/(?P<secret>[A-Za-z0-9_-]{50,90})",
    ),
    ("twilio-key", "SK", "[a-f0-9]{32}"),
    ("sendgrid-key", "SG.", "[A-Za-z0-9_-]{16,32}\\.[A-Za-z0-9_-]{30,64}"),
    ("mailgun-key", "key-", "[a-f0-9]{32}"),
    ("brevo-key", "xkeysib- xsmtpsib-", "[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    ("resend-key", "re_", "[A-Za-z0-9]{6,12}_[A-Za-z0-9]{18,40}"),
    ("matrix-token", "syt_", "[A-Za-z0-9+/]{4,80}={0,2}_[A-Za-z0-9]{16,30}_[A-Za-z0-9]{6}"),
    # money and shops
    ("stripe-key", "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_", "[A-Za-z0-9]{16,255}"),
    ("webhook-secret", "whsec_", "[A-Za-z0-9+/_-]{24,100}={0,2}"),
    ("square-token", "sq0atp- sq0csp- EAAA", "[A-Za-z0-9_-]{22,90}"),
    ("shopify-token", "shpat_ shpca_ shppa_ shpss_ shptka_", "[A-Fa-f0-9]{32}"),
    ("paypal-token", "access_token$production$ access_token$sandbox$", "[a-z0-9]{16}\\$[a-f0-9]{32}"),
    (
        "plaid-token",
        "access-production- access-sandbox- access-development-",
        "[a-f0-9]{8}(?:-[a-f0-9]{4,12}){4}",
    ),
    ("easypost-key", "EZAK EZTK", "[A-Za-z0-9]{54}"),
    # models and agents
    ("anthropic-key", "sk-ant-", "[A-Za-z0-9_-]{24,250}"),
    ("openrouter-key", "sk-or-", "[A-Za-z0-9_-]{24,120}"),
    ("langfuse-key", "sk-lf-", "[a-f0-9]{8}(?:-[a-f0-9]{4,12}){4}"),
    ("openai-key", "sk-", "[A-Za-z0-9_-]{20,250}"),
    ("huggingface-token", "hf_ api_org_", "[A-Za-z0-9]{28,60}"),
    ("groq-key", "gsk_", "[A-Za-z0-9]{40,80}"),
    ("replicate-token", "r8_", "[A-Za-z0-9]{30,60}"),
    ("xai-key", "xai-", "[A-Za-z0-9]{40,120}"),
    ("perplexity-key", "pplx-", "[A-Za-z0-9]{32,80}"),
    ("nvidia-key", "nvapi-", "[A-Za-z0-9_-]{40,100}"),
    ("fireworks-key", "fw_ fpk_", "[A-Za-z0-9]{20,60}"),
    ("together-key", "tgp_v1_", "[A-Za-z0-9_-]{30,80}"),
    ("cerebras-key", "csk-", "[a-z0-9]{40,80}"),
    ("elevenlabs-key", "sk_", "[a-f0-9]{48}"),
    ("langsmith-key", "lsv2_pt_ lsv2_sk_", "[a-f0-9]{32}_[a-f0-9]{10}"),
    ("pinecone-key", "pcsk_", "[A-Za-z0-9_-]{40,100}"),
    ("tavily-key", "tvly-", "[A-Za-z0-9-]{20,60}"),
    ("firecrawl-key", "fc-", "[a-f0-9]{32}"),
    ("e2b-key", "e2b_", "[a-f0-9]{40}"),
    ("browserbase-key", "bb_live_", "[A-Za-z0-9_-]{20,60}"),
    ("mem0-key", "m0-", "[A-Za-z0-9]{30,60}"),
    # other services
    ("linear-key", "lin_api_ lin_oauth_", "[A-Za-z0-9]{32,64}"),
    ("notion-token", "secret_ ntn_", "[A-Za-z0-9]{40,50}"),
    ("figma-token", "figd_ figo_ figu_ figoh_", "[A-Za-z0-9_-]{36,60}"),
    ("postman-key", "PMAK-", "[a-f0-9]{24}-[a-f0-9]{34}"),
    ("airtable-token", "pat", "[A-Za-z0-9]{14}\\.[a-f0-9]{64}"),
    ("hubspot-token", "pat-na1- pat-na2- pat-eu1-", "[a-f0-9]{8}(?:-[a-f0-9]{4,12}){4}"),
    ("launchdarkly-key", "sdk- api-", "[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}"),
    ("contentful-token", "CFPAT-", "[A-Za-z0-9_-]{40,50}"),
    ("typeform-token", "tfp_", "[A-Za-z0-9_-]{40,80}"),
    ("adafruit-key", "aio_", "[A-Za-z0-9]{28}"),
    ("mapbox-token", "sk.eyJ", "[A-Za-z0-9_-]{20,200}\\.[A-Za-z0-9_-]{20,40}"),
    ("facebook-token", "EAA", "[A-Za-z0-9]{80,400}"),
    ("dropbox-token", "sl.", "[A-Za-z0-9_-]{100,1500}"),
    # kinds of their own
    ("jwt", "eyJ", "[A-Za-z0-9_-]{8,4000}\\.[A-Za-z0-9_-]{8,8000}\\.[A-Za-z0-9_-]{10,2000}"),
    ("age-secret-key", "AGE-SECRET-KEY-1 AGE-SECRET-KEY-PQ-1", "[A-Z0-9]{50,120}"),
    ("nostr-key", "nsec1", "[a-z0-9]{58}"),
    ("wallet-key", "xprv zprv yprv", "[A-Za-z0-9]{100,112}"),
    ("fernet-token", "gAAAAA", "[A-Za-z0-9_-]{60,4000}={0,2}"),
)

# Without a prefix, what is in the middle of them or their whole layout gives them away.
# Kind, a part that must be there, the whole.
SHAPES: tuple[tuple[str, str, str], ...] = (
    ("telegram-token", ":", r"(?<![\w:])(?:bot)?[0-9]{8,10}:[A-Za-z0-9_-]{35}(?![\w-])"),
    (
        "discord-token",
        ".",
        r"(?<![\w.-])[MNO][A-Za-z0-9_-]{22,28}\.[A-Za-z0-9_-]{5,7}\.[A-Za-z0-9_-]{27,40}(?![\w-])",
    ),
    ("azure-client-secret", "Q~", r"(?<![\w~.-])[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}(?![\w~-])"),
    ("azure-devops-token", "AZDO", r"(?<![A-Za-z0-9])[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}(?![A-Za-z0-9])"),
    ("terraform-token", ".atlasv1.", r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{50,80}"),
    ("newrelic-key", "NRAL", r"(?<![A-Za-z0-9])[A-Fa-f0-9]{36}NRAL(?![A-Za-z0-9])"),
    ("mailchimp-key", "-us", r"(?<![\w-])[a-f0-9]{32}-us[0-9]{1,2}(?![\w-])"),
    ("mailgun-key", "-", r"(?<![\w-])[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}(?![\w-])"),
    ("asana-token", ":", r"(?<![\w/])[0-9]/[0-9]{10,18}(?:/[0-9]{10,18})?:[a-f0-9]{32}(?![\w-])"),
)

# Services whose keys have no shape of their own: their name must stand close by.
VENDORS = (
    "datadog", "twilio", "heroku", "cloudflare", "okta", "algolia", "cohere", "mistral", "snyk", "pagerduty",
    "new relic", "newrelic", "wandb", "bitbucket", "fastly", "zendesk", "deepgram", "assemblyai", "mailgun",
    "segment", "amplitude", "rollbar", "bugsnag", "codecov", "openai", "azure", "gitlab", "jenkins",
)  # fmt: skip
