// Made from openapi.json: npm run types

export interface paths {
    "/api/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Search the audit log
         * @description Who changed what, the newest first: the caller's own deeds and what was done with their tenants; a superuser sees all.
         */
        get: operations["search_audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export the audit log
         * @description All entries that a search finds, as a line each: JSON or CSV.
         */
        get: operations["export_audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/operators": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List operators */
        get: operations["list_operators"];
        put?: never;
        /**
         * Create an operator
         * @description Takes a superuser who signed in and gave their password within the last five minutes (`POST /sign-in/proof`); API tokens
         *     can't do this.
         */
        post: operations["create_operator"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/operators/{operator}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get an operator */
        get: operations["get_operator"];
        put?: never;
        post?: never;
        /**
         * Remove an operator
         * @description With their API tokens; their sign-ins end at once. Asks for a confirmation. Takes a superuser who signed in and gave their
         *     password within the last five minutes (`POST /sign-in/proof`); API tokens can't do this.
         */
        delete: operations["remove_operator"];
        options?: never;
        head?: never;
        /**
         * Update an operator
         * @description In force on their next request. A new password ends all their sign-ins. Takes a superuser who signed in and gave their
         *     password within the last five minutes (`POST /sign-in/proof`); API tokens can't do this.
         */
        patch: operations["update_operator"];
        trace?: never;
    };
    "/api/v1/operators/{operator}/totp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove an operator's TOTP
         * @description For an operator who lost their phone and their recovery codes: their next sign-in takes the password alone. Takes a
         *     superuser who signed in and gave their password within the last five minutes (`POST /sign-in/proof`); API tokens can't do
         *     this.
         */
        delete: operations["remove_operator_totp"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List queues
         * @description Those that the caller may see, with all their settings, by id.
         */
        get: operations["list_queues"];
        put?: never;
        /**
         * Create a queue
         * @description In force on the next request to its hosts. With `validate=true` nothing is written.
         */
        post: operations["create_queue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/{queue}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a queue
         * @description All its settings; their revision is the `ETag`.
         */
        get: operations["get_queue"];
        put?: never;
        post?: never;
        /**
         * Remove a queue
         * @description With its line: whoever waits there or is in gets no more answer of it. Asks for a confirmation.
         */
        delete: operations["remove_queue"];
        options?: never;
        head?: never;
        /**
         * Update a queue
         * @description By a JSON merge patch over the revision that `If-Match` names; in force on the next request. If it was
         *     changed meanwhile, nothing is written and the answer has the settings as they are now, to be compared. With `validate=true` nothing is written.
         */
        patch: operations["update_queue"];
        trace?: never;
    };
    "/api/v1/queues/{queue}/clone": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Clone a queue
         * @description The body is laid over the settings of the queue; it names at least an `id`, and hosts where both can't have the same.
         *     The line is not cloned. With `validate=true` nothing is written.
         */
        post: operations["clone_queue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/{queue}/controls": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Update controls
         * @description Sets mode, quota, rate and times to what the body says, whatever they were: no `If-Match` is needed. Lowering the
         *     quota sends nobody away.
         */
        patch: operations["update_controls"];
        trace?: never;
    };
    "/api/v1/queues/{queue}/drain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Drain a queue
         * @description Ends a sale in good order: nobody joins any more, everybody who waits is let in, first come, first served, and then the
         *     queue closes by itself. The mode `draining`; any other mode ends it. How long it takes stands in the queue's numbers.
         */
        post: operations["drain_queue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/{queue}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get queue history
         * @description A point for every minute of the last day, or for every five minutes of the last 30 days; as JSON or CSV.
         */
        get: operations["get_queue_history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/{queue}/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Admit the next visitors
         * @description Admits the next `count` visitors of the line now, whatever quota, rate or pause say. More than 100 are to be confirmed:
         *     they can't be sent back. With an `Idempotency-Key` a request that is repeated within a day admits nobody again, and is
         *     answered as the first one.
         */
        post: operations["release"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/{queue}/reset": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reset a queue
         * @description Begins a new epoch: the line is empty, nobody is in, and all tickets are void. Asks for a confirmation.
         */
        post: operations["reset_queue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/{queue}/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List waiting visitors
         * @description A page of the line in the order of arrival.
         */
        get: operations["list_sessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/{queue}/sessions/{session}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Find a session
         * @description By its id, or by the support code that its visitor reads out from the queue page. A session that is away is not
         *     found: its place is in the visitor's own ticket.
         */
        get: operations["find_session"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/{queue}/sessions/{session}/admit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Admit a session
         * @description Lets one session in now, before its turn, whatever quota, rate or pause say. Those who wait stand as before.
         */
        post: operations["admit_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/{queue}/sessions/{session}/end": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End a session
         * @description Its place is free at once, and its ticket can't return. Asks for a confirmation.
         */
        post: operations["end_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/{queue}/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get queue stats */
        get: operations["get_queue_stats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export all settings
         * @description Every tenant and queue that the caller may see as one document, as `POST /settings` and `vestibule serve --settings`
         *     take it; as JSON or TOML.
         */
        get: operations["export_settings"];
        put?: never;
        /**
         * Import settings
         * @description Makes tenants and queues what the document says. With `validate=true` the answer is the plan, and nothing is written;
         *     without, it is to be confirmed. With `remove=true` queues that the document does not name are removed.
         */
        post: operations["import_settings"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sign-in": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the current principal
         * @description Says who asks and what they may; `null` for nobody, or by a sign-in that has ended.
         */
        get: operations["get_current_principal"];
        put?: never;
        /**
         * Sign in
         * @description Answers with a cookie that a browser keeps. Whoever fails too often is slowed down. An operator with TOTP gets 401 with
         *     `code_required` after the password; send the same again with a `code`. Every code is accepted once.
         */
        post: operations["sign_in"];
        /**
         * Sign out
         * @description Ends the sign-in of the cookie. With an API token nothing happens.
         */
        delete: operations["sign_out"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sign-in/methods": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List sign-in methods
         * @description What a sign-in page is to offer.
         */
        get: operations["list_sign_in_methods"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sign-in/oidc": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Start single sign-on
         * @description For browsers: leads to the identity provider, or to `/sign-in?problem=<code>` of the dashboard.
         */
        get: operations["start_oidc"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sign-in/oidc/callback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Complete single sign-on
         * @description For browsers that the identity provider sends back: signs in and leads to `/`, or to `/sign-in?problem=<code>` of the
         *     dashboard.
         */
        get: operations["complete_oidc"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sign-in/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Change your password
         * @description Ends all other sign-ins of this operator. API tokens can't do this.
         */
        put: operations["change_password"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sign-in/proof": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Confirm your password
         * @description For five minutes the sign-in of the cookie may manage operators. API tokens can't do this.
         */
        post: operations["confirm_password"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sign-in/totp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Confirm TOTP setup
         * @description Takes the password and a first code. From now on a sign-in with the password needs a code as well. Ends all other sign-ins
         *     with the password alone, and answers with recovery codes that are shown this once.
         */
        put: operations["confirm_totp_setup"];
        /**
         * Start TOTP setup
         * @description Makes a secret for an authenticator app. It is active once `PUT /sign-in/totp` confirms it, within ten minutes. API tokens
         *     can't do this.
         */
        post: operations["start_totp_setup"];
        /**
         * Turn off TOTP
         * @description Takes an operator who signed in or gave their password within the last five minutes (`POST /sign-in/proof`); API tokens
         *     can't do this.
         */
        delete: operations["remove_own_totp"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List queue stats
         * @description The numbers of every queue that the caller may see.
         */
        get: operations["list_queue_stats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/stats/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stream stats
         * @description Server-sent events `stats`, every two seconds, with the numbers of every queue that the caller may see. A stream ends
         *     after five minutes, and when the store gives no answer, so that nobody takes old numbers for new ones: whoever asks for
         *     the next one is told why there is none. Where answers can't be streamed there is none: poll
         *     `/stats` there.
         */
        get: operations["stream_stats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List tenants
         * @description Those that the caller may see, by id.
         */
        get: operations["list_tenants"];
        put?: never;
        /** Create a tenant */
        post: operations["create_tenant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a tenant */
        get: operations["get_tenant"];
        put?: never;
        post?: never;
        /**
         * Remove a tenant
         * @description Only one without queues; asks for a confirmation.
         */
        delete: operations["remove_tenant"];
        options?: never;
        head?: never;
        /**
         * Update a tenant
         * @description By a JSON merge patch. Pages show it within seconds. Only superusers change `domains` and `origins`, and to lists that
         *     all queues of the tenant are within.
         */
        patch: operations["update_tenant"];
        trace?: never;
    };
    "/api/v1/themes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List themes
         * @description The themes that there are and that the caller may see, by id. `default` is for queues without one.
         */
        get: operations["list_themes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/themes/{theme}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove a theme
         * @description For good, with all its versions. Refused while a queue has it; asks for a confirmation.
         */
        delete: operations["remove_theme"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/themes/{theme}/deactivate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Deactivate a theme
         * @description Visitors of its queues see the theme `default`, or the built-in page, within seconds. Its versions stay, what was put there
         *     by hand becomes one, and publishing any of them undoes this: so it asks for no confirmation. Of a theme that is not live it
         *     changes nothing.
         */
        post: operations["deactivate_theme"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/themes/{theme}/download": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download the active theme
         * @description The files of a theme as gates find them now, published here or put there by hand, as a ZIP archive that can be uploaded.
         */
        get: operations["download_live_theme"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/themes/{theme}/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Preview a theme
         * @description The page that visitors would see, with sample data, for a frame: it runs no script and reaches nothing of the
         *     backoffice. Of a theme that is not there it is the built-in page in the tenant's colours.
         */
        get: operations["preview_theme"];
        put?: never;
        /**
         * Preview a theme draft
         * @description Draws the pages of templates as they are sent, with sample data. Nothing of them is kept, and no visitor sees them. Only
         *     templates are sent: whoever shows the pages has the theme's other files, and puts them where `asset_base` stands. Ask
         *     again when something changed, not more often than once a second on end: drawing takes a moment of a core. At most 1 MB.
         */
        post: operations["preview_theme_draft"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/themes/{theme}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List theme versions
         * @description The newest first; the last 50 are kept, and the live one. What was put there by hand becomes one with the first upload.
         */
        get: operations["list_theme_versions"];
        put?: never;
        /**
         * Upload a theme version
         * @description Keeps the files as the theme's newest version, once every page of it was drawn in all states and languages. Visitors see
         *     it when it is published. A theme that is broken is refused, each fault by file and line. At most 16 MB as a ZIP
         *     archive or base64 (1 MB through a load balancer that calls a function), 64 MB unpacked in 1000 files, 2 MB a file,
         *     256 KB a template. With `validate=true` nothing is kept.
         */
        post: operations["upload_theme"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/themes/{theme}/versions/{version}/activate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Activate a theme version
         * @description Makes a version what visitors see, the newest or an older one, once it was checked anew. Gates notice it within
         *     seconds. It is undone by publishing the one before, so it asks for no confirmation.
         */
        post: operations["activate_theme_version"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/themes/{theme}/versions/{version}/download": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download a theme version
         * @description Its files as a ZIP archive, as they can be uploaded again.
         */
        get: operations["download_theme_version"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List API tokens
         * @description The caller's own; a superuser sees all.
         */
        get: operations["list_tokens"];
        put?: never;
        /**
         * Create an API token
         * @description For scripts of the operator who signed in: a token can't make others, which would outlive it.
         */
        post: operations["create_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens/{token}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke an API token
         * @description One of the caller's own; a superuser any. It is good no more at once.
         */
        delete: operations["revoke_token"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/url-tests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Test a URL
         * @description Which queue would this request meet, and why.
         */
        post: operations["test_url"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description Whether a session was let in. */
        AdmitResult: {
            /** @description Whether it waited and is in now; `false` if it was in already, or ended. */
            admitted: boolean;
        };
        /** @description An entry of the audit log. */
        AuditEvent: {
            /** @description What was done: `queue.update`. */
            action: string;
            /**
             * Format: int64
             * @description When, in seconds since 1970 by the store's clock.
             */
            at?: number;
            /** @description Fields with their values before and after. */
            changes: components["schemas"]["FieldChange"][];
            /** @description Its id, which grows along the log. */
            id?: string;
            /** @description Name of the operator; `null` for a sign-in that failed under a name that nobody has. */
            operator?: string | null;
            /** @description Whether it was done. */
            outcome?: components["schemas"]["AuditOutcome"];
            /** @description The queue that it is about. */
            queue?: string | null;
            /** @description Id of the request. */
            request: string;
            /**
             * Format: int64
             * @description Revision of the queue's settings afterwards.
             */
            revision?: number | null;
            /** @description What else it is about: a session, an operator's name, a token's public half, a theme. */
            subject?: string | null;
            /** @description The tenant that it is about. */
            tenant?: string | null;
            /** @description Public half of the API token that was used. */
            token?: string | null;
            /** @description How it was done. */
            via?: components["schemas"]["Via"];
        };
        /**
         * @description Whether what an audit event describes was done.
         * @enum {string}
         */
        AuditOutcome: "done" | "incomplete" | "unknown";
        /** @description A page of the audit log. */
        AuditPage: {
            /** @description The entries, the newest first. */
            events: components["schemas"]["AuditEvent"][];
            /**
             * @description What the next page comes `before`; `null` at the end. There may be a next page though this one has few entries:
             *     a search looks through a part of the log at a time.
             */
            next?: string | null;
        };
        /** @description The settings, or with `validate=true` what would be written. */
        Changed: components["schemas"]["QueueSettings"] | components["schemas"]["Validated"];
        /** @description What to confirm. */
        Confirmation: {
            /** @description What will happen, in English. */
            consequence: string;
            /**
             * Format: int64
             * @description Seconds until the token expires.
             */
            expires_in: number;
            /** @description The code and parameters of `consequence`, for other languages. */
            message: components["schemas"]["Message"];
            /** @description Send it in the header `X-Vestibule-Confirm`; valid for one request. */
            token: string;
        };
        /**
         * @description The levers of a queue. What is absent stays; `null` is the default again, for `admissions_per_minute` and
         *     `max_session` no limit.
         */
        Controls: {
            /**
             * Format: int64
             * @description Seconds for which a visit keeps a place.
             */
            active_ttl?: number | null;
            /**
             * Format: int64
             * @description Most admissions a minute.
             */
            admissions_per_minute?: number | null;
            /**
             * Format: int64
             * @description Seconds that a place waits for who was let in while away.
             */
            claim_ttl?: number | null;
            /**
             * Format: int64
             * @description Seconds for which a ticket holds a place in line.
             */
            hold_ttl?: number | null;
            /**
             * Format: int64
             * @description Seconds after which a place ends.
             */
            max_session?: number | null;
            /** @description Whether and whom the queue admits: `open`, `bypass`, `paused`, `closed`, `draining`. */
            mode?: string | null;
            /**
             * Format: int64
             * @description Most visitors that are let in at once.
             */
            quota?: number;
            /**
             * Format: int64
             * @description Seconds for which a visit keeps somebody in line.
             */
            waiting_ttl?: number | null;
        };
        /** @description A new token with its secret, which is shown this once. */
        CreatedToken: {
            /** @description What to send as `Authorization: Bearer <secret>`. It is kept nowhere: who loses it makes another. */
            secret: string;
            /** @description The token. */
            token: components["schemas"]["TokenView"];
        };
        /** @description Name and password. */
        Credentials: {
            /** @description The code of their authenticator app or a recovery code, for an operator with TOTP. */
            code?: string | null;
            /** @description Name of the operator. */
            name: string;
            /**
             * Format: password
             * @description Their password.
             */
            password: string;
        };
        /** @description Who asks, and what they may. */
        CurrentPrincipal: {
            /**
             * Format: int64
             * @description When the sign-in ends at the latest, in seconds since 1970; `null` with a token.
             */
            ends_at?: number | null;
            /** @description Name of the operator. */
            operator: string;
            /** @description What they may; a token may less than its owner. */
            role: components["schemas"]["Role"];
            /** @description The tenants that the role holds for; `null` for all. */
            tenants?: string[] | null;
            /** @description Public half of the API token that was used. */
            token?: string | null;
            /** @description Whether they have TOTP, the second factor of a sign-in with a password. */
            totp: components["schemas"]["TotpStatus"];
        };
        /** @description A template as it was written so far. */
        DraftTemplate: {
            /** @description Its path within the theme: `queue.html`. */
            path: string;
            /** @description Its text. */
            text: string;
        };
        /** @description What a session was before it was ended. */
        EndedSession: {
            /** @description What it was. */
            previous_state: components["schemas"]["PreviousState"];
        };
        /**
         * @description A word for programs; it never changes, and new ones may come. `x-english` says all of them, with gaps such as `{most}`, which `params` fill.
         * @enum {string}
         */
        ErrorCode: "takes_not" | "takes" | "empty" | "missing" | "no_field" | "id_taken" | "no_such_tenant" | "hold_ttl_too_short" | "claim_ttl_too_short" | "host_not_covered" | "host_outside" | "any_host" | "origin_outside" | "cookie_domain_outside" | "public_suffix" | "superusers_only" | "no_entries" | "rule_without_condition" | "too_many_paths" | "whole_number" | "whole_number_or_nothing" | "one_of" | "id" | "name" | "hosts" | "origin" | "handover" | "cookie_domain" | "document" | "table" | "tables" | "rules" | "rule" | "paths" | "methods" | "named_value" | "networks" | "colour" | "domains" | "origins" | "logo" | "not_signed_in" | "credential_invalid" | "wrong_password" | "password_required" | "code_required" | "wrong_code" | "totp_setup_required" | "totp_exists" | "no_totp_setup" | "rate_limited" | "too_many_changes" | "permission_denied" | "no_request_header" | "not_found" | "route_not_found" | "method_not_allowed" | "invalid_body" | "too_large" | "wrong_content_type" | "validation_failed" | "queues_outside" | "routing_conflict" | "already_exists" | "not_empty" | "theme_in_use" | "last_superuser" | "limit_reached" | "concurrent_change" | "revision_conflict" | "revision_required" | "confirmation_required" | "streaming_unavailable" | "too_many_streams" | "theme_storage_not_configured" | "theme_invalid" | "theme_storage_unavailable" | "store_unavailable" | "outcome_unknown" | "an_operator" | "a_tenant" | "a_token" | "a_queue" | "a_session" | "a_theme" | "a_version" | "role_operator" | "role_superuser" | "signed_in_operator" | "operator_with_password" | "unlimited_token" | "not_an_object" | "not_json" | "not_an_archive" | "not_understood" | "unknown_control" | "clone_needs_id" | "not_the_password" | "not_the_code" | "immutable" | "immutable_clone" | "immutable_reset" | "superuser_only" | "foreign_theme" | "logo_not_found" | "unreadable" | "repeated_parameter" | "duplicate" | "not_base64" | "role_above_own" | "tenant_not_accessible" | "superuser_has_all" | "needs_tenant" | "operator_name" | "new_password" | "password" | "code" | "text" | "text_at_most" | "characters" | "seconds" | "tenant_ids" | "url" | "method" | "pairs" | "address" | "revision" | "idempotency_key" | "key_used" | "entry_id" | "version_id" | "draft_templates" | "draft_assets" | "host_taken" | "never_applies" | "hides_other" | "rule_repeated" | "foreign_queue" | "rule_queued" | "no_rules" | "unmatched_queued" | "rule_bypassed" | "too_many_readings" | "no_rule_matched" | "will_release" | "will_reset" | "will_remove_queue" | "will_remove_operator" | "will_remove_tenant" | "will_remove_theme" | "will_remove_unversioned_theme" | "will_end_session" | "will_import" | "theme_unreadable" | "theme_file_too_large" | "too_many_templates" | "too_many_files" | "no_files" | "not_a_theme_file" | "template_fault" | "no_script_tags";
        /** @description A queue that was asked. */
        EvaluatedQueue: {
            /** @description Its host that fits. */
            host?: string | null;
            /** @description The same, for those who say it in another language. */
            message: components["schemas"]["Message"];
            /** @description The queue; `null` for one that is not the caller's to see. */
            queue?: string | null;
            /** @description Why, as a sentence. */
            reason: string;
            /** @description Number of the rule that decides, from 0; `null` where none does. */
            rule?: number | null;
        };
        /** @description A field with its values before and after. */
        FieldChange: {
            /** @description Name of the field. */
            field: string;
            /** @description What it was; `null` where there was nothing. */
            from: unknown;
            /** @description What it is; `null` where there is nothing. */
            to: unknown;
        };
        /** @description An invalid field. */
        FieldProblem: {
            code: components["schemas"]["ErrorCode"];
            /** @description What is wrong, as the rest of a sentence that begins with the field. */
            detail: string;
            /** @description Path of the field, such as `rules[1].path`, a query parameter, a header, or file and line of a theme. */
            field: string;
            params?: components["schemas"]["MessageParams"];
        };
        /** @description What was done with a document. */
        ImportResult: {
            /** @description Whether it was done. */
            applied: boolean;
            /** @description What there was to do. */
            plan: components["schemas"]["Plan"];
            /** @description Queues that somebody else changed meanwhile, and that were skipped as they are. */
            skipped: string[];
        };
        /** @description A sentence, or a part of one, by its code and what stands in its gaps. */
        Message: {
            code: components["schemas"]["ErrorCode"];
            params: components["schemas"]["MessageParams"];
        };
        /** @description What stands in the gaps of a sentence: numbers, texts, other phrases. */
        MessageParams: {
            [key: string]: number | string | components["schemas"]["Message"];
        };
        /** @description Signing in through an identity provider. */
        OidcMethod: {
            /** @description What a button says. */
            name: string;
            /** @description Where a browser is to go. */
            start: string;
        };
        /** @description A new operator. */
        OperatorDraft: {
            /** @description The name to sign in with. */
            name: string;
            /**
             * Format: password
             * @description The password to sign in with. Without one the operator signs in through the identity provider, which there must be.
             */
            password?: string | null;
            /** @description What they may. */
            role: components["schemas"]["Role"];
            /** @description The tenants that the role holds for; none for a superuser. */
            tenants?: string[] | null;
        };
        /** @description What is to be changed of an operator. What is absent stays. */
        OperatorPatch: {
            /**
             * Format: password
             * @description A new password; ends all their sign-ins.
             */
            password?: string | null;
            role?: components["schemas"]["Role"] | null;
            /** @description The tenants that the role holds for. */
            tenants?: string[] | null;
        };
        /** @description An operator. The password is never told. */
        OperatorView: {
            /**
             * Format: int64
             * @description When they were created, in seconds since 1970.
             */
            created_at: number;
            /** @description Name of the operator. */
            name: string;
            /**
             * Format: int64
             * @description When their password was set, in seconds since 1970; `null` for one who has none and signs in through the identity
             *     provider.
             */
            password_at?: number | null;
            /** @description What they may. */
            role: components["schemas"]["Role"];
            /** @description The tenants that the role holds for; empty for a superuser, who has all. */
            tenants: string[];
            /**
             * Format: int64
             * @description When they set up TOTP, in seconds since 1970; `null` without it.
             */
            totp_at?: number | null;
        };
        /** @description All operators. */
        Operators: {
            /** @description The operators by name. */
            operators: components["schemas"]["OperatorView"][];
        };
        /**
         * @description What would happen to a request.
         * @enum {string}
         */
        Outcome: "queue" | "bypass" | "pass" | "unknown_host";
        /** @description The old password and the new one. */
        PasswordChange: {
            /**
             * Format: password
             * @description The password until now.
             */
            current: string;
            /**
             * Format: password
             * @description The password from now on.
             */
            new: string;
        };
        /** @description The password of the operator who signed in. */
        PasswordConfirmation: {
            /**
             * Format: password
             * @description The password.
             */
            password: string;
        };
        /** @description What would be written and removed. */
        Plan: {
            /** @description Queues that the document does not name, and that stay. */
            kept: string[];
            /** @description Queues that are new or differ. */
            queues: components["schemas"]["PlannedChange"][];
            /** @description Queues that the document does not name, and that are removed. */
            removed: string[];
            /** @description Tenants that are new or differ. */
            tenants: components["schemas"]["PlannedChange"][];
        };
        /** @description Something that would be written. */
        PlannedChange: {
            /** @description Fields with their values before and after. */
            changes: components["schemas"]["FieldChange"][];
            /** @description Whether it is new. */
            created: boolean;
            /** @description Its id. */
            id: string;
        };
        /** @description One page. */
        PreviewPage: {
            /** @description The page. It holds what the theme's author wrote: show it only where nothing of it runs. */
            html: string;
            /** @description The state of the visitor who would see it. */
            state: string;
        };
        /**
         * @description A state that a page is shown in.
         * @enum {string}
         */
        PreviewState: "waiting" | "admitted" | "paused" | "closed" | "unavailable";
        /**
         * @description What a session was.
         * @enum {string}
         */
        PreviousState: "waiting" | "active" | "absent";
        /** @description The body of every error response: problem details (RFC 9457). */
        ProblemDetails: {
            code: components["schemas"]["ErrorCode"];
            /** @description What to confirm, for the code `confirmation_required`. */
            confirmation?: components["schemas"]["Confirmation"];
            /** @description The current settings, for the code `revision_conflict`. */
            conflict?: components["schemas"]["RevisionConflict"];
            /** @description What happened and what to do, in English. */
            detail: string;
            /** @description All invalid fields. */
            errors?: components["schemas"]["FieldProblem"][];
            params?: components["schemas"]["MessageParams"];
            /**
             * Format: int32
             * @description The HTTP status code.
             */
            status: number;
            /** @description The name of the HTTP status. */
            title: string;
            /** @description Always `about:blank`; `code` identifies the problem. */
            type: string;
        };
        /** @description A QR code, to be drawn dark on light with a margin of four modules. */
        QrCodeImage: {
            /** @description The dark modules as an SVG path in units of one module. */
            path: string;
            /** @description Modules on each side. */
            size: number;
        };
        /** @description What is to differ from the queue that is cloned; `null` is the default. */
        QueueClone: {
            /**
             * Format: int64
             * @description Seconds for which a visit keeps a place.
             */
            active_ttl?: number | null;
            /**
             * Format: int64
             * @description Most admissions a minute; `null` is no limit.
             */
            admissions_per_minute?: number | null;
            /**
             * Format: int64
             * @description Seconds that a place waits for who was let in while away.
             */
            claim_ttl?: number | null;
            /** @description Domain of the cookies; `null` is the very host. */
            cookie_domain?: string | null;
            /**
             * Format: int64
             * @description Tickets of another epoch are void.
             */
            epoch?: number | null;
            /** @description How whoever is let in reaches the site. */
            handover?: {
                /** @enum {string} */
                kind: "redirect" | "proxy" | "check";
                /** @description Scheme, host and port; only `check` needs none. */
                origin?: string;
                /**
                 * @description Who answers CORS preflights: the gate, for pages of the queue's hosts and origin, or the origin. `answer` by default.
                 * @enum {string}
                 */
                preflights?: "answer" | "forward";
            };
            /**
             * Format: int64
             * @description Seconds for which a ticket holds a place in line.
             */
            hold_ttl?: number | null;
            /** @description Hosts it stands in front of: `tickets.example.com`, `*.example.com`, `*`. */
            hosts?: string[];
            /** @description Id of the queue. */
            id: string;
            /**
             * Format: int64
             * @description Seconds after which a place ends; `null` is never.
             */
            max_session?: number | null;
            /**
             * @description Whether and whom it admits.
             * @enum {string|null}
             */
            mode?: "open" | "bypass" | "paused" | "closed" | "draining" | null;
            /** @description What visitors read. */
            name?: string | null;
            /**
             * @description Status of the queue page.
             * @enum {integer|null}
             */
            queue_status?: 200 | 202 | 429 | 503 | null;
            /**
             * Format: int64
             * @description Most visitors that are let in at once.
             */
            quota?: number;
            /**
             * Format: int64
             * @description Seconds for which a fresh ticket passes unasked.
             */
            recheck_after?: number | null;
            /**
             * Format: int64
             * @description Grows with every change.
             */
            revision?: number | null;
            /** @description Which requests meet it; all conditions of a rule must hold. */
            rules?: {
                /** @enum {string} */
                action: "queue" | "bypass";
                cookie?: {
                    name: string;
                    value: string;
                };
                header?: {
                    name: string;
                    value: string;
                };
                method?: string[];
                path?: string[];
                source?: string[];
            }[] | null;
            /**
             * @description What holds while the store is away.
             * @enum {string|null}
             */
            store_failure?: "tickets" | "open" | "closed" | null;
            /** @description Id of the tenant that it belongs to. */
            tenant?: string;
            /** @description Id of the theme; `null` is the built-in one. */
            theme?: string | null;
            /**
             * Format: int64
             * @description Seconds for which a visit keeps somebody in line.
             */
            waiting_ttl?: number | null;
        };
        /** @description The settings of a new queue; what is absent has its default. */
        QueueDraft: {
            /**
             * Format: int64
             * @description Seconds for which a visit keeps a place.
             */
            active_ttl?: number | null;
            /**
             * Format: int64
             * @description Most admissions a minute; `null` is no limit.
             */
            admissions_per_minute?: number | null;
            /**
             * Format: int64
             * @description Seconds that a place waits for who was let in while away.
             */
            claim_ttl?: number | null;
            /** @description Domain of the cookies; `null` is the very host. */
            cookie_domain?: string | null;
            /**
             * Format: int64
             * @description Tickets of another epoch are void.
             */
            epoch?: number | null;
            /** @description How whoever is let in reaches the site. */
            handover: {
                /** @enum {string} */
                kind: "redirect" | "proxy" | "check";
                /** @description Scheme, host and port; only `check` needs none. */
                origin?: string;
                /**
                 * @description Who answers CORS preflights: the gate, for pages of the queue's hosts and origin, or the origin. `answer` by default.
                 * @enum {string}
                 */
                preflights?: "answer" | "forward";
            };
            /**
             * Format: int64
             * @description Seconds for which a ticket holds a place in line.
             */
            hold_ttl?: number | null;
            /** @description Hosts it stands in front of: `tickets.example.com`, `*.example.com`, `*`. */
            hosts: string[];
            /** @description Id of the queue. */
            id: string;
            /**
             * Format: int64
             * @description Seconds after which a place ends; `null` is never.
             */
            max_session?: number | null;
            /**
             * @description Whether and whom it admits.
             * @enum {string|null}
             */
            mode?: "open" | "bypass" | "paused" | "closed" | "draining" | null;
            /** @description What visitors read. */
            name?: string | null;
            /**
             * @description Status of the queue page.
             * @enum {integer|null}
             */
            queue_status?: 200 | 202 | 429 | 503 | null;
            /**
             * Format: int64
             * @description Most visitors that are let in at once.
             */
            quota: number;
            /**
             * Format: int64
             * @description Seconds for which a fresh ticket passes unasked.
             */
            recheck_after?: number | null;
            /**
             * Format: int64
             * @description Grows with every change.
             */
            revision?: number | null;
            /** @description Which requests meet it; all conditions of a rule must hold. */
            rules?: {
                /** @enum {string} */
                action: "queue" | "bypass";
                cookie?: {
                    name: string;
                    value: string;
                };
                header?: {
                    name: string;
                    value: string;
                };
                method?: string[];
                path?: string[];
                source?: string[];
            }[] | null;
            /**
             * @description What holds while the store is away.
             * @enum {string|null}
             */
            store_failure?: "tickets" | "open" | "closed" | null;
            /** @description Id of the tenant that it belongs to. */
            tenant: string;
            /** @description Id of the theme; `null` is the built-in one. */
            theme?: string | null;
            /**
             * Format: int64
             * @description Seconds for which a visit keeps somebody in line.
             */
            waiting_ttl?: number | null;
        };
        /** @description A queue's numbers over time. */
        QueueHistory: {
            /**
             * @description What the numbers of a point are: `at` in seconds since 1970, how many were `waiting` and `active` then, the
             *     `quota`, and how many `joined` and were `admitted` since the point before.
             */
            columns: string[];
            /** @description The points, the oldest first. A step without a point had nobody in it; `null` is not known. */
            points: (number | null)[][];
            /**
             * Format: int64
             * @description Seconds between two points.
             */
            step_seconds: number;
        };
        /** @description A page of queues. */
        QueuePage: {
            /** @description What the next page begins after; `null` at the end. */
            next?: string | null;
            /** @description The queues by id. */
            queues: components["schemas"]["QueueSettings"][];
        };
        /** @description Settings that are to be changed (RFC 7396): what is absent stays, `null` is the default again. */
        QueuePatch: {
            /**
             * Format: int64
             * @description Seconds for which a visit keeps a place.
             */
            active_ttl?: number | null;
            /**
             * Format: int64
             * @description Most admissions a minute; `null` is no limit.
             */
            admissions_per_minute?: number | null;
            /**
             * Format: int64
             * @description Seconds that a place waits for who was let in while away.
             */
            claim_ttl?: number | null;
            /** @description Domain of the cookies; `null` is the very host. */
            cookie_domain?: string | null;
            /** @description How whoever is let in reaches the site. */
            handover?: {
                /** @enum {string} */
                kind: "redirect" | "proxy" | "check";
                /** @description Scheme, host and port; only `check` needs none. */
                origin?: string;
                /**
                 * @description Who answers CORS preflights: the gate, for pages of the queue's hosts and origin, or the origin. `answer` by default.
                 * @enum {string}
                 */
                preflights?: "answer" | "forward";
            };
            /**
             * Format: int64
             * @description Seconds for which a ticket holds a place in line.
             */
            hold_ttl?: number | null;
            /** @description Hosts it stands in front of: `tickets.example.com`, `*.example.com`, `*`. */
            hosts?: string[];
            /**
             * Format: int64
             * @description Seconds after which a place ends; `null` is never.
             */
            max_session?: number | null;
            /**
             * @description Whether and whom it admits.
             * @enum {string|null}
             */
            mode?: "open" | "bypass" | "paused" | "closed" | "draining" | null;
            /** @description What visitors read. */
            name?: string | null;
            /**
             * @description Status of the queue page.
             * @enum {integer|null}
             */
            queue_status?: 200 | 202 | 429 | 503 | null;
            /**
             * Format: int64
             * @description Most visitors that are let in at once.
             */
            quota?: number;
            /**
             * Format: int64
             * @description Seconds for which a fresh ticket passes unasked.
             */
            recheck_after?: number | null;
            /** @description Which requests meet it; all conditions of a rule must hold. */
            rules?: {
                /** @enum {string} */
                action: "queue" | "bypass";
                cookie?: {
                    name: string;
                    value: string;
                };
                header?: {
                    name: string;
                    value: string;
                };
                method?: string[];
                path?: string[];
                source?: string[];
            }[] | null;
            /**
             * @description What holds while the store is away.
             * @enum {string|null}
             */
            store_failure?: "tickets" | "open" | "closed" | null;
            /** @description Id of the theme; `null` is the built-in one. */
            theme?: string | null;
            /**
             * Format: int64
             * @description Seconds for which a visit keeps somebody in line.
             */
            waiting_ttl?: number | null;
        };
        /** @description The settings of a queue. */
        QueueSettings: {
            /**
             * Format: int64
             * @description Seconds for which a visit keeps a place.
             */
            active_ttl: number;
            /**
             * Format: int64
             * @description Most admissions a minute; `null` is no limit.
             */
            admissions_per_minute: number | null;
            /**
             * Format: int64
             * @description Seconds that a place waits for who was let in while away.
             */
            claim_ttl: number;
            /** @description Domain of the cookies; `null` is the very host. */
            cookie_domain: string | null;
            /**
             * Format: int64
             * @description Tickets of another epoch are void.
             */
            epoch: number;
            /** @description How whoever is let in reaches the site. */
            handover: {
                /** @enum {string} */
                kind: "redirect" | "proxy" | "check";
                /** @description Scheme, host and port; only `check` needs none. */
                origin?: string;
                /**
                 * @description Who answers CORS preflights: the gate, for pages of the queue's hosts and origin, or the origin. `answer` by default.
                 * @enum {string}
                 */
                preflights?: "answer" | "forward";
            };
            /**
             * Format: int64
             * @description Seconds for which a ticket holds a place in line.
             */
            hold_ttl: number;
            /** @description Hosts it stands in front of: `tickets.example.com`, `*.example.com`, `*`. */
            hosts: string[];
            /** @description Id of the queue. */
            id: string;
            /**
             * Format: int64
             * @description Seconds after which a place ends; `null` is never.
             */
            max_session: number | null;
            /**
             * @description Whether and whom it admits.
             * @enum {string}
             */
            mode: "open" | "bypass" | "paused" | "closed" | "draining";
            /** @description What visitors read. */
            name: string;
            /**
             * @description Status of the queue page.
             * @enum {integer}
             */
            queue_status: 200 | 202 | 429 | 503;
            /**
             * Format: int64
             * @description Most visitors that are let in at once.
             */
            quota: number;
            /**
             * Format: int64
             * @description Seconds for which a fresh ticket passes unasked.
             */
            recheck_after: number;
            /**
             * Format: int64
             * @description Grows with every change.
             */
            revision: number;
            /** @description Which requests meet it; all conditions of a rule must hold. */
            rules: {
                /** @enum {string} */
                action: "queue" | "bypass";
                cookie?: {
                    name: string;
                    value: string;
                };
                header?: {
                    name: string;
                    value: string;
                };
                method?: string[];
                path?: string[];
                source?: string[];
            }[];
            /**
             * @description What holds while the store is away.
             * @enum {string}
             */
            store_failure: "tickets" | "open" | "closed";
            /** @description Id of the tenant that it belongs to. */
            tenant: string;
            /** @description Id of the theme; `null` is the built-in one. */
            theme: string | null;
            /**
             * Format: int64
             * @description Seconds for which a visit keeps somebody in line.
             */
            waiting_ttl: number;
        };
        /** @description A queue at a glance. */
        QueueStats: {
            /**
             * Format: int64
             * @description How many are let in.
             */
            active: number;
            /**
             * Format: double
             * @description How many were admitted a minute, of late; `null` while that is not known.
             */
            admitted_per_minute?: number | null;
            /**
             * Format: int64
             * @description When these numbers were true, in seconds since 1970 by the store's clock.
             */
            at: number;
            drained_in_seconds?: components["schemas"]["Wait"] | null;
            /**
             * Format: double
             * @description How many joined a minute, of late; `null` while that is not known.
             */
            joined_per_minute?: number | null;
            /** @description Whether and whom it admits. */
            mode: string;
            /** @description Its name. */
            name: string;
            /**
             * Format: int64
             * @description Seconds since the longest waiting joined; `null` while nobody waits.
             */
            oldest_wait_seconds?: number | null;
            /** @description The queue. */
            queue: string;
            /**
             * Format: int64
             * @description Most that are let in.
             */
            quota: number;
            /** @description Whether the store lost the line, and takes tickets back before it admits anybody new. */
            recovering: boolean;
            /**
             * Format: int64
             * @description Revision of the settings in force.
             */
            revision: number;
            /** @description Its tenant. */
            tenant: string;
            /**
             * Format: double
             * @description Share of the quota that is taken, 1 for all of it; `null` for a quota of 0. More than 1 after a release.
             */
            utilization?: number | null;
            wait_seconds?: components["schemas"]["Wait"] | null;
            /**
             * Format: int64
             * @description How many wait.
             */
            waiting: number;
        };
        /** @description A queue at a glance, with how many waited of late. */
        QueueStatsEntry: components["schemas"]["QueueStats"] & {
            /**
             * @description Points of the last minutes, the oldest first: seconds since 1970, and how many waited. A minute without a point
             *     had nobody in it.
             */
            recent: number[][];
        };
        /** @description All queues at a glance. */
        QueueStatsList: {
            /** @description The queues by id. */
            queues: components["schemas"]["QueueStatsEntry"][];
        };
        /** @description One reading of the path. */
        Reading: {
            /** @description What would happen if it were the only reading. */
            outcome: components["schemas"]["Outcome"];
            /** @description The path, as rules see it. */
            path: string;
        };
        /** @description Recovery codes, shown this once. */
        RecoveryCodes: {
            /** @description Each is accepted once in place of a code of the app. */
            recovery_codes: string[];
        };
        /** @description How many are to be released. */
        ReleaseRequest: {
            /**
             * Format: int64
             * @description How many.
             */
            count: number;
        };
        /** @description How many were released. */
        ReleaseResult: {
            /** @description Whether that is all. `false` if the store stopped responding on the way; up to 500 more may have been admitted then. */
            complete: boolean;
            /**
             * Format: int64
             * @description How many were admitted: fewer than asked for if fewer waited.
             */
            released: number;
        };
        /**
         * @description What is there instead of the revision that a change was meant for. Whoever made the change knows what it began with, and
         *     compares all three.
         */
        RevisionConflict: {
            /** @description The settings as they are now. */
            current: components["schemas"]["QueueSettings"];
            /**
             * Format: int64
             * @description The revision that is there now.
             */
            revision: number;
        };
        /**
         * @description What somebody may do; each may all that the one before may.
         * @enum {string}
         */
        Role: "viewer" | "operator" | "superuser";
        /** @description A page of a line. */
        SessionPage: {
            /** @description What the next page begins from; `null` at the end. */
            next?: string | null;
            /** @description Those who wait, in their order. */
            sessions: components["schemas"]["Waiting"][];
        };
        /**
         * @description Where a session is.
         * @enum {string}
         */
        SessionState: "waiting" | "active" | "ended";
        /** @description Where a session is. */
        SessionView: {
            /**
             * Format: double
             * @description When it was let in, in seconds since 1970; `null` unless it is in.
             */
            admitted_at?: number | null;
            /**
             * Format: double
             * @description When it lapses unless it is heard of, or until when its ticket is void, in seconds since 1970.
             */
            expires_at: number;
            /**
             * Format: double
             * @description When it joined, in seconds since 1970; `null` unless it waits.
             */
            joined_at?: number | null;
            /**
             * Format: double
             * @description When it was heard of, in seconds since 1970. It may have been heard of a little later: not every visit is written
             *     down. `null` once it ended.
             */
            last_seen?: number | null;
            /**
             * Format: int64
             * @description Its rank in the line, from 1; `null` unless it waits.
             */
            position?: number | null;
            /** @description The session. */
            session: string;
            /** @description Where it is. */
            state: components["schemas"]["SessionState"];
            /** @description The code that its visitor can read out. */
            support_code: string;
        };
        /** @description All tenants and queues. */
        SettingsDocument: {
            /** @description The queues by id. */
            queues: components["schemas"]["QueueSettings"][];
            /** @description The tenants by id. */
            tenants: components["schemas"]["TenantView"][];
        };
        /** @description Tenants and queues that are to be as they stand here. */
        SettingsDraft: {
            /** @description The queues; their tenants are among those above. */
            queues?: components["schemas"]["QueueDraft"][];
            /** @description The tenants. */
            tenants?: components["schemas"]["TenantDraft"][];
        };
        /** @description The ways to sign in that there are. */
        SignInMethods: {
            oidc?: components["schemas"]["OidcMethod"] | null;
            /** @description By name and password: `POST /sign-in`. */
            password: boolean;
        };
        /** @description A new tenant. */
        TenantDraft: {
            /** @description The brand's colour. */
            colour?: string | null;
            /** @description Domains of its queues' hosts and cookies, each with all names below it. Without the list only superusers set these. */
            domains?: string[] | null;
            /** @description Id of the tenant. */
            id: string;
            /** @description The brand's logo within its theme. */
            logo?: string | null;
            /** @description The brand as visitors know it. */
            name: string;
            /**
             * @description Origins of its queues, such as `https://www.example.com` or `https://*.example.com`. Only an origin that is named
             *     to the letter may be in a private network. Without the list only superusers set origins.
             */
            origins?: string[] | null;
        };
        /** @description What is to be changed of a tenant: a JSON merge patch. */
        TenantPatch: {
            /** @description The brand's colour. */
            colour?: string | null;
            /** @description Domains of its queues' hosts and cookies, each with all names below it. Without the list only superusers set these. */
            domains?: string[] | null;
            /** @description The brand's logo within its theme. */
            logo?: string | null;
            /** @description The brand as visitors know it. */
            name?: string;
            /**
             * @description Origins of its queues, such as `https://www.example.com` or `https://*.example.com`. Only an origin that is named
             *     to the letter may be in a private network. Without the list only superusers set origins.
             */
            origins?: string[] | null;
        };
        /** @description A client brand. */
        TenantView: {
            /** @description The brand's colour as `#rrggbb`; `null` is the theme's own. */
            colour?: string | null;
            /** @description Domains that the hosts and cookie domains of its queues are or lie below; `null` leaves them to superusers. */
            domains?: string[] | null;
            /** @description Id of the tenant. */
            id: string;
            /** @description The brand's logo within its theme; `null` shows the name. */
            logo?: string | null;
            /** @description The brand as visitors know it. */
            name: string;
            /** @description Origins that its queues hand visitors over to; `null` leaves them to superusers. */
            origins?: string[] | null;
        };
        /** @description All tenants that the caller may see. */
        Tenants: {
            /** @description The tenants by id. */
            tenants: components["schemas"]["TenantView"][];
        };
        /** @description What was checked, and not kept. */
        ThemeCheck: {
            /** @description How many bytes they have together. */
            bytes: number;
            /** @description How many files it has. */
            files: number;
        };
        /** @description A theme that somebody is at work on. */
        ThemeDraft: {
            /** @description Paths of its other files, which are not sent: the tenant's logo is shown if it is one of them. */
            assets?: string[];
            /** @description Language of the visitor, `en` without it. */
            language?: string;
            /** @description The states to draw, all of them without it. */
            states?: components["schemas"]["PreviewState"][];
            /** @description Its templates; without any, the pages are the built-in ones. */
            templates: components["schemas"]["DraftTemplate"][];
        };
        /** @description Pages that were drawn of files which are not kept. */
        ThemeDraftPreview: {
            /**
             * @description What the addresses of the theme's other files begin with in the pages. Nothing is to be had there: whoever shows a
             *     page puts the files in their places.
             */
            asset_base: string;
            /** @description The nonce of the pages' styles. */
            nonce: string;
            /** @description A page for each state that was asked for. */
            pages: components["schemas"]["PreviewPage"][];
        };
        /** @description The themes that the caller may see. */
        ThemeList: {
            /** @description The languages in which a page can be looked at. */
            languages: string[];
            /** @description The states in which a page can be looked at. */
            states: string[];
            /** @description The themes by id. */
            themes: components["schemas"]["ThemeView"][];
        };
        /** @description The files of a theme. */
        ThemeUpload: {
            /** @description The files. */
            files: components["schemas"]["UploadedFile"][];
        };
        /** @description A version of a theme. */
        ThemeVersionView: {
            /**
             * Format: int64
             * @description When it was uploaded, in seconds since 1970.
             */
            at: number;
            /**
             * Format: int64
             * @description How many bytes they have together.
             */
            bytes: number;
            /**
             * Format: int64
             * @description How many files it has.
             */
            files: number;
            /** @description Its id, which grows with time. */
            id: string;
            /** @description Whether it is what visitors see. */
            live: boolean;
            /** @description Who uploaded it; `null` for what was put there by hand. */
            operator?: string | null;
        };
        /** @description The versions of a theme. */
        ThemeVersions: {
            /** @description The versions, the newest first. */
            versions: components["schemas"]["ThemeVersionView"][];
        };
        /** @description A theme. */
        ThemeView: {
            /** @description Its id, as a queue's `theme` names it. */
            id: string;
            /** @description Whether visitors see something of it: what was published, or put there by hand. */
            live: boolean;
            /** @description The queues that have it, as far as the caller may see them. */
            queues: string[];
            /** @description The tenant whose it is: the one whose id it has or begins with; `null` for the superusers' own. */
            tenant?: string | null;
        };
        /** @description A new token. */
        TokenDraft: {
            /**
             * Format: int64
             * @description Seconds after which it is good no more.
             */
            expires_in: number;
            /** @description What it is for. */
            name: string;
            only?: components["schemas"]["TokenLimit"] | null;
            /** @description What it may: at most what its owner may. */
            role: components["schemas"]["Role"];
            /** @description The tenants that the role holds for: at most its owner's; none for a superuser. */
            tenants?: string[] | null;
        };
        /**
         * @description What a token is limited to, beside its scope.
         * @enum {string}
         */
        TokenLimit: "settings";
        /** @description An API token, without its secret. */
        TokenView: {
            /**
             * Format: int64
             * @description When it was made, in seconds since 1970.
             */
            created_at: number;
            /**
             * Format: int64
             * @description When it is good no more, in seconds since 1970.
             */
            expires_at: number;
            /** @description Its public half. */
            id: string;
            /** @description What it is for. */
            name: string;
            only?: components["schemas"]["TokenLimit"] | null;
            /** @description Whose it is. */
            operator: string;
            /** @description What it may, as long as its owner may. */
            role: components["schemas"]["Role"];
            /** @description The tenants that the role holds for; empty for all of its owner's. */
            tenants: string[];
            /**
             * Format: int64
             * @description When it was used last, in seconds since 1970, give or take a minute; `null` if never.
             */
            used_at?: number | null;
        };
        /** @description API tokens. */
        Tokens: {
            /** @description The tokens by their public half. */
            tokens: components["schemas"]["TokenView"][];
        };
        /** @description The password, and the first code of the app. */
        TotpConfirmation: {
            /** @description The code that the app shows. */
            code: string;
            /**
             * Format: password
             * @description The operator's password.
             */
            password: string;
        };
        /** @description A secret for an authenticator app. It is not active yet. */
        TotpSetup: {
            /** @description The URI as a QR code. */
            qr_code: components["schemas"]["QrCodeImage"];
            /** @description The secret in base32, to type into an app. */
            secret: string;
            /** @description The same as an `otpauth://` URI. */
            uri: string;
        };
        /**
         * @description Whether the operator has TOTP.
         * @enum {string}
         */
        TotpStatus: "unavailable" | "off" | "required" | "on";
        /** @description A file of a theme. */
        UploadedFile: {
            /** @description Its content. */
            base64: string;
            /** @description Its path within the theme: `queue.html`, `img/logo.svg`. */
            path: string;
        };
        /** @description A request that is to be tested. */
        UrlTest: {
            /** @description Cookies by name. */
            cookies?: {
                [key: string]: string;
            };
            /** @description Headers by name. */
            headers?: {
                [key: string]: string;
            };
            /** @description The method, GET by default. */
            method?: string;
            /** @description The queue that `rules` are of. */
            queue?: string;
            /** @description Rules to try in place of those that the queue has. */
            rules?: unknown[];
            /** @description Address of the visitor. */
            source?: string;
            /**
             * @description The address, with its host.
             * @example https://tickets.example.com/shop/seats
             */
            url: string;
        };
        /** @description What a request would meet. */
        UrlTestResult: {
            /** @description Every queue that is asked, in that order, with its reason. */
            evaluated: components["schemas"]["EvaluatedQueue"][];
            /** @description The host, as rules see it. */
            host: string;
            /** @description What would happen. */
            outcome: components["schemas"]["Outcome"];
            /** @description The reading of the path that decides. */
            path: string;
            /** @description The queue that decides; `null` for none, or for one that is not the caller's to see. */
            queue?: string | null;
            /**
             * @description Every way in which an origin may read the path; the first is the path as it was sent. The request passes only if
             *     it passes in all of them.
             */
            readings: components["schemas"]["Reading"][];
        };
        /** @description What would be written, if it were meant. */
        Validated: {
            /** @description What would change. */
            changes: components["schemas"]["FieldChange"][];
            /** @description The settings as they would be. */
            settings: components["schemas"]["QueueSettings"];
        };
        /**
         * @description How something was changed.
         * @enum {string}
         */
        Via: "api" | "command_line" | "settings_file";
        /** @description An expected wait. */
        Wait: {
            /**
             * Format: int64
             * @description Half of those who join now wait less, in seconds.
             */
            p50: number;
            /**
             * Format: int64
             * @description Nine of ten wait less, in seconds.
             */
            p90: number;
        };
        /** @description Somebody who waits. */
        Waiting: {
            /**
             * Format: double
             * @description When it lapses unless it is heard of, in seconds since 1970.
             */
            expires_at: number;
            /**
             * Format: double
             * @description When it joined, in seconds since 1970.
             */
            joined_at: number;
            /** @description The session. */
            session: string;
            /** @description The code that its visitor can read out. */
            support_code: string;
        };
        /**
         * Format: binary
         * @description The files of a theme as a ZIP archive; a folder around all of them is left out.
         */
        ZipArchive: string;
    };
    responses: {
        /** @description The body is too large */
        BodyTooLarge: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDetails"];
            };
        };
        /** @description The body is not a JSON object */
        InvalidBody: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDetails"];
            };
        };
        /** @description Not authenticated */
        NotAuthenticated: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDetails"];
            };
        };
        /** @description Not found, or no access to it */
        NotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDetails"];
            };
        };
        /** @description The store did not respond; the change may or may not have been applied */
        OutcomeUnknown: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDetails"];
            };
        };
        /** @description Permission denied */
        PermissionDenied: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDetails"];
            };
        };
        /** @description The store is unavailable; try again */
        StoreUnavailable: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDetails"];
            };
        };
        /** @description A parameter or field is invalid; `errors` lists all of them */
        ValidationFailed: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDetails"];
            };
        };
        /** @description The body does not have an accepted content type */
        WrongContentType: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDetails"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    search_audit: {
        parameters: {
            query?: {
                /** @description Only about this tenant */
                tenant?: string;
                /** @description Only about this queue */
                queue?: string;
                /** @description Only by this operator */
                operator?: string;
                /** @description Only actions that begin with this: `queue.` */
                action?: string;
                /** @description Only entries with this text in them */
                search?: string;
                /** @description Only from this time on, in seconds since 1970 */
                from?: number;
                /** @description Only up to this time, in seconds since 1970 */
                to?: number;
                /** @description `next` of the page before */
                before?: string;
                /** @description At most this many */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The entries */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditPage"];
                };
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    export_audit: {
        parameters: {
            query?: {
                /** @description Only about this tenant */
                tenant?: string;
                /** @description Only about this queue */
                queue?: string;
                /** @description Only by this operator */
                operator?: string;
                /** @description Only actions that begin with this: `queue.` */
                action?: string;
                /** @description Only entries with this text in them */
                search?: string;
                /** @description Only from this time on, in seconds since 1970 */
                from?: number;
                /** @description Only up to this time, in seconds since 1970 */
                to?: number;
                /** @description Only before this entry */
                before?: string;
                /** @description `ndjson` or `csv` */
                format?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The entries, the newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                    "text/csv": string;
                };
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    list_operators: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The operators */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Operators"];
                };
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    create_operator: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OperatorDraft"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorView"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            /** @description There is an operator of this name already */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["WrongContentType"];
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    get_operator: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of the operator */
                operator: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The operator */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorView"];
                };
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    remove_operator: {
        parameters: {
            query?: never;
            header?: {
                /** @description The confirmation token of the first response */
                "X-Vestibule-Confirm"?: string | null;
            };
            path: {
                /** @description Name of the operator */
                operator: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Removed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            /** @description It is the last superuser */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            422: components["responses"]["ValidationFailed"];
            /** @description Confirmation required */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    update_operator: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of the operator */
                operator: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OperatorPatch"];
            };
        };
        responses: {
            /** @description The operator as it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorView"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            /** @description It is the last superuser, or is changed by somebody else right now */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["WrongContentType"];
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    remove_operator_totp: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of the operator */
                operator: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The operator has no TOTP */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            /** @description Someone else changed this operator at the same time */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    list_queues: {
        parameters: {
            query?: {
                /** @description Only this tenant's */
                tenant?: string;
                /** @description Only those with this in id, name or a host */
                search?: string;
                /** @description Begin after this id */
                after?: string;
                /** @description At most this many */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The queues */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueuePage"];
                };
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    create_queue: {
        parameters: {
            query?: {
                /** @description Validate only; nothing is written */
                validate?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["QueueDraft"];
            };
        };
        responses: {
            /** @description What would be written */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Validated"];
                };
            };
            /** @description Created */
            201: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueSettings"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            /** @description There is one of this id, or another queue is in the way */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["WrongContentType"];
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    get_queue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the queue */
                queue: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Its settings */
            200: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueSettings"];
                };
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    remove_queue: {
        parameters: {
            query?: never;
            header?: {
                /** @description The confirmation token of the first response */
                "X-Vestibule-Confirm"?: string | null;
            };
            path: {
                /** @description ID of the queue */
                queue: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Removed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["ValidationFailed"];
            /** @description Confirmation required */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    update_queue: {
        parameters: {
            query?: {
                /** @description Validate only; nothing is written */
                validate?: boolean;
            };
            header: {
                /** @description The `ETag` that the change is meant for, or `*` */
                "If-Match": string;
            };
            path: {
                /** @description ID of the queue */
                queue: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/merge-patch+json": components["schemas"]["QueuePatch"];
            };
        };
        responses: {
            /** @description Its settings as they are now, or would be */
            200: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changed"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            /** @description Another queue is in the way */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Somebody else changed it meanwhile */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["WrongContentType"];
            422: components["responses"]["ValidationFailed"];
            /** @description `If-Match` is missing */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    clone_queue: {
        parameters: {
            query?: {
                /** @description Validate only; nothing is written */
                validate?: boolean;
            };
            header?: never;
            path: {
                /** @description ID of the queue */
                queue: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["QueueClone"];
            };
        };
        responses: {
            /** @description What would be written */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Validated"];
                };
            };
            /** @description Created */
            201: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueSettings"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            /** @description There is one of this id, or another queue is in the way */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["WrongContentType"];
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    update_controls: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the queue */
                queue: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Controls"];
            };
        };
        responses: {
            /** @description The current settings */
            200: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueSettings"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            /** @description Someone else is changing it */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["WrongContentType"];
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    drain_queue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the queue */
                queue: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The current settings */
            200: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueSettings"];
                };
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            /** @description Someone else is changing it */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    get_queue_history: {
        parameters: {
            query?: {
                /** @description `minute` or `five_minutes` */
                step?: string;
                /** @description Begin at this time, in seconds since 1970 */
                from?: number;
                /** @description `json` or `csv` */
                format?: string;
            };
            header?: never;
            path: {
                /** @description ID of the queue */
                queue: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The points */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueHistory"];
                    "text/csv": string;
                };
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    release: {
        parameters: {
            query?: never;
            header?: {
                /** @description The confirmation token of the first response */
                "X-Vestibule-Confirm"?: string | null;
                /** @description Names the request, so that it can be repeated safely */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description ID of the queue */
                queue: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReleaseRequest"];
            };
        };
        responses: {
            /** @description How many were admitted */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReleaseResult"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["WrongContentType"];
            422: components["responses"]["ValidationFailed"];
            /** @description Confirmation required */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            503: components["responses"]["StoreUnavailable"];
            /** @description The store did not respond in time: visitors may or may not have been admitted */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    reset_queue: {
        parameters: {
            query?: never;
            header?: {
                /** @description The confirmation token of the first response */
                "X-Vestibule-Confirm"?: string | null;
            };
            path: {
                /** @description ID of the queue */
                queue: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The current settings */
            200: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueSettings"];
                };
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["ValidationFailed"];
            /** @description Confirmation required */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    list_sessions: {
        parameters: {
            query?: {
                /** @description `next` of the page before */
                from?: string;
                /** @description At most this many */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description ID of the queue */
                queue: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the line */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionPage"];
                };
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    find_session: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the queue */
                queue: string;
                /** @description Id or support code of the session */
                session: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Where it is */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionView"];
                };
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    admit_session: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the queue */
                queue: string;
                /** @description Id or support code of the session */
                session: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Whether it was let in */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdmitResult"];
                };
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    end_session: {
        parameters: {
            query?: never;
            header?: {
                /** @description The confirmation token of the first response */
                "X-Vestibule-Confirm"?: string | null;
            };
            path: {
                /** @description ID of the queue */
                queue: string;
                /** @description Id or support code of the session */
                session: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What it was before */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndedSession"];
                };
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["ValidationFailed"];
            /** @description Confirmation required */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    get_queue_stats: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the queue */
                queue: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Its numbers */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueStats"];
                };
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    export_settings: {
        parameters: {
            query?: {
                /** @description `json` or `toml` */
                format?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SettingsDocument"];
                    "application/toml": string;
                };
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    import_settings: {
        parameters: {
            query?: {
                /** @description Only say what would be done */
                validate?: boolean;
                /** @description Remove queues that the document does not name */
                remove?: boolean;
            };
            header?: {
                /** @description The confirmation token of the first response */
                "X-Vestibule-Confirm"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SettingsDraft"];
            };
        };
        responses: {
            /** @description What was done, or would be */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportResult"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            /** @description Queues would be in each other's way */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["WrongContentType"];
            422: components["responses"]["ValidationFailed"];
            /** @description Confirmation required */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    get_current_principal: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Who asks */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CurrentPrincipal"] | null;
                };
            };
            /** @description By a token that is good no more */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description By a token that is limited to something else */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    sign_in: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Credentials"];
            };
        };
        responses: {
            /** @description Signed in */
            200: {
                headers: {
                    "Set-Cookie"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CurrentPrincipal"];
                };
            };
            400: components["responses"]["InvalidBody"];
            /** @description Name, password or code are wrong, or a code is missing */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Someone else changed this operator at the same time */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["WrongContentType"];
            422: components["responses"]["ValidationFailed"];
            /** @description Too many attempts; `Retry-After` says when to try again */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    sign_out: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Signed out */
            204: {
                headers: {
                    "Set-Cookie"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    list_sign_in_methods: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The ways */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignInMethods"];
                };
            };
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    start_oidc: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description `Location` is the provider's page, or `/sign-in?problem=<code>`: `oidc_not_configured`, `provider_unavailable`, `rate_limited`, `store_unavailable` */
            303: {
                headers: {
                    Location?: string;
                    "Set-Cookie"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    complete_oidc: {
        parameters: {
            query?: {
                /** @description What the provider gave */
                code?: string;
                /** @description What it was given */
                state?: string;
                /** @description Why it refused */
                error?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description `Location` is `/`, or `/sign-in?problem=<code>`: `oidc_not_configured`, `attempt_expired`, `wrong_state`, `provider_refused`, `provider_unavailable`, `invalid_id_token`, `missing_claim`, `unknown_operator`, `store_unavailable` */
            303: {
                headers: {
                    Location?: string;
                    "Set-Cookie"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    change_password: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PasswordChange"];
            };
        };
        responses: {
            /** @description Changed */
            204: {
                headers: {
                    "Set-Cookie"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            /** @description Someone else changed this operator at the same time */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["WrongContentType"];
            422: components["responses"]["ValidationFailed"];
            /** @description Too many attempts; `Retry-After` says when to try again */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    confirm_password: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PasswordConfirmation"];
            };
        };
        responses: {
            /** @description The password is right */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["WrongContentType"];
            422: components["responses"]["ValidationFailed"];
            /** @description Too many attempts; `Retry-After` says when to try again */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    confirm_totp_setup: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TotpConfirmation"];
            };
        };
        responses: {
            /** @description TOTP is active */
            200: {
                headers: {
                    "Set-Cookie"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecoveryCodes"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            /** @description TOTP is set up already, or no set-up is waiting for a code */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["WrongContentType"];
            422: components["responses"]["ValidationFailed"];
            /** @description Too many attempts; `Retry-After` says when to try again */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    start_totp_setup: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The secret */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TotpSetup"];
                };
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            /** @description TOTP is set up already */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    remove_own_totp: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description TOTP is off */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            /** @description Someone else changed this operator at the same time */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    list_queue_stats: {
        parameters: {
            query?: {
                /** @description Minutes for which to tell how many waited */
                recent?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Their numbers */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueStatsList"];
                };
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    stream_stats: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events `stats`; their data is a `StatsEvent` */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            /** @description Answers are not streamed here */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    list_tenants: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tenants */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tenants"];
                };
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    create_tenant: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TenantDraft"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantView"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            /** @description There is a tenant of this id already */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["WrongContentType"];
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    get_tenant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tenant */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantView"];
                };
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    remove_tenant: {
        parameters: {
            query?: never;
            header?: {
                /** @description The confirmation token of the first response */
                "X-Vestibule-Confirm"?: string | null;
            };
            path: {
                /** @description ID of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Removed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            /** @description It has queues */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            422: components["responses"]["ValidationFailed"];
            /** @description Confirmation required */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    update_tenant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TenantPatch"];
            };
        };
        responses: {
            /** @description The tenant as it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantView"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            /** @description Queues of the tenant are outside of the lists */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["WrongContentType"];
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    list_themes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The themes */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThemeList"];
                };
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            /** @description Theme storage is not configured */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    remove_theme: {
        parameters: {
            query?: never;
            header?: {
                /** @description The confirmation token of the first response */
                "X-Vestibule-Confirm"?: string | null;
            };
            path: {
                /** @description ID of the theme */
                theme: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Removed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            /** @description Queues have it, somebody publishes it at this moment, or themes are kept nowhere */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            422: components["responses"]["ValidationFailed"];
            /** @description Confirmation required */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    deactivate_theme: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the theme */
                theme: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Visitors see nothing of it */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            /** @description Somebody else publishes at this moment, or themes are kept nowhere */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description What was put there by hand can't be kept as a version; `errors` names all that is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    download_live_theme: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the theme */
                theme: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The archive */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/zip": components["schemas"]["ZipArchive"];
                };
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            /** @description Theme storage is not configured */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    preview_theme: {
        parameters: {
            query?: {
                /** @description ID of the version; what is live without it */
                version?: string;
                /** @description State of the visitor, `waiting` without it */
                state?: string;
                /** @description Language of the visitor, `en` without it */
                language?: string;
            };
            header?: never;
            path: {
                /** @description ID of the theme */
                theme: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            /** @description Theme storage is not configured */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A parameter is wrong, or the theme is broken; `errors` names all of it */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            503: components["responses"]["StoreUnavailable"];
        };
    };
    preview_theme_draft: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the theme, whether there is one yet or not */
                theme: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ThemeDraft"];
            };
        };
        responses: {
            /** @description The pages */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThemeDraftPreview"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["WrongContentType"];
            /** @description A field is wrong, or it is broken; `errors` names all that is, `field` as file and line */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    list_theme_versions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the theme */
                theme: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The versions */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThemeVersions"];
                };
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            /** @description Theme storage is not configured */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    upload_theme: {
        parameters: {
            query?: {
                /** @description Only say whether it works */
                validate?: boolean;
            };
            header?: never;
            path: {
                /** @description ID of the theme: a tenant's id, alone or with `-` and more behind it */
                theme: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ThemeUpload"];
                "application/zip": components["schemas"]["ZipArchive"];
            };
        };
        responses: {
            /** @description It works, and was not kept */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThemeCheck"];
                };
            };
            /** @description The new version */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThemeVersionView"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            /** @description Somebody else does the same at this moment, or themes are kept nowhere */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["WrongContentType"];
            /** @description It is broken; `errors` names all that is, `field` as file and line */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    activate_theme_version: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the theme */
                theme: string;
                /** @description ID of the version */
                version: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The version, which is live */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThemeVersionView"];
                };
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            /** @description Somebody else does the same at this moment, or themes are kept nowhere */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description It does not work any more; `errors` names all that is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    download_theme_version: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the theme */
                theme: string;
                /** @description ID of the version */
                version: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The archive */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/zip": components["schemas"]["ZipArchive"];
                };
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            /** @description Theme storage is not configured */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    list_tokens: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tokens */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tokens"];
                };
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    create_token: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TokenDraft"];
            };
        };
        responses: {
            /** @description Created; the secret is shown this once */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedToken"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            /** @description There are as many tokens as there may be */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["WrongContentType"];
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    revoke_token: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Public half of the token */
                token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Revoked */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
    test_url: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UrlTest"];
            };
        };
        responses: {
            /** @description What it would meet */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UrlTestResult"];
                };
            };
            400: components["responses"]["InvalidBody"];
            401: components["responses"]["NotAuthenticated"];
            403: components["responses"]["PermissionDenied"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["WrongContentType"];
            422: components["responses"]["ValidationFailed"];
            503: components["responses"]["StoreUnavailable"];
            504: components["responses"]["OutcomeUnknown"];
        };
    };
}
