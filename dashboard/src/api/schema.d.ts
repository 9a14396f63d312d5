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
         * @description Returns events, newest first: your own actions and all changes to your tenants. An API token sees what was done with it and
         *     all changes to its tenants. Superusers see all events.
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
         * @description Returns all events that a search finds, one per line, as JSON or CSV. With `limit`, it returns them in parts.
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
    "/api/v1/job-queues": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List job queues
         * @description Returns the job queues that you have access to, with their settings and statistics. The list is empty where job queues are
         *     not available.
         */
        get: operations["list_job_queues"];
        put?: never;
        /**
         * Create a job queue
         * @description A name that ends with `.fifo` makes it a FIFO job queue. Without a secret in `target`, one is generated.
         */
        post: operations["create_job_queue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/job-queues/{job_queue}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a job queue
         * @description The revision of the settings is the `ETag`.
         */
        get: operations["get_job_queue"];
        put?: never;
        post?: never;
        /**
         * Remove a job queue
         * @description Only a job queue without jobs and dead letters can be removed. Stop its producers first. Needs a confirmation.
         */
        delete: operations["remove_job_queue"];
        options?: never;
        head?: never;
        /**
         * Update a job queue
         * @description Applies a JSON merge patch to the revision in `If-Match`. It applies to the next jobs that start, in other processes within 5
         *     seconds. A secret in `target` replaces the current one at once; to keep both for a while, rotate it.
         */
        patch: operations["update_job_queue"];
        trace?: never;
    };
    "/api/v1/job-queues/{job_queue}/acknowledge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Acknowledge jobs
         * @description Completes jobs that the consumer has received. A result `lease_ended` means that the lease had ended before: the job may be
         *     received again. A repeated request has the same results.
         */
        post: operations["acknowledge_jobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/job-queues/{job_queue}/dead-letters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List dead letters
         * @description The jobs that failed for good, the newest first, with their reasons and the start of the last response. They are kept for
         *     `dead_letter_retention`.
         */
        get: operations["list_dead_letters"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/job-queues/{job_queue}/dead-letters/delete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Delete dead letters
         * @description Deletes several dead letters, or all that there are now. Jobs that are no dead letters any more are left out. `all` needs a
         *     confirmation.
         */
        post: operations["delete_dead_letters"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/job-queues/{job_queue}/dead-letters/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replay dead letters
         * @description Puts jobs back to the end of their groups, in the order in which they were accepted, with new sequence numbers, the same IDs and no
         *     failed attempts. Jobs that are no dead letters any more are left out. Held orders are never replayed.
         */
        post: operations["replay_dead_letters"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/job-queues/{job_queue}/dead-letters/{job}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a dead letter
         * @description With its payload. Held orders have none.
         */
        get: operations["get_dead_letter"];
        put?: never;
        post?: never;
        /** Delete a dead letter */
        delete: operations["delete_dead_letter"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/job-queues/{job_queue}/dead-letters/{job}/resolve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resolve a held order
         * @description Records what became of a held order whose outcome is unknown. Find it out in the shop, which received the job ID as
         *     `Idempotency-Key`. The visitor's page shows it.
         */
        post: operations["resolve_dead_letter"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/job-queues/{job_queue}/drain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Drain a job queue
         * @description Cancels all jobs that wait: they are deleted, and held orders become dead letters. Jobs that run are finished. Needs a
         *     confirmation. Pause the job queue first if no further job is to start meanwhile.
         */
        post: operations["drain_job_queue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/job-queues/{job_queue}/extend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Extend leases
         * @description For jobs that take longer than `timeout`. A lease is never shortened.
         */
        post: operations["extend_leases"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/job-queues/{job_queue}/fail": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report failed jobs
         * @description Ends leases without success. A failed job is received again after its backoff, up to `max_attempts` attempts; then it is a
         *     dead letter. A repeated request has the same results.
         */
        post: operations["fail_jobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/job-queues/{job_queue}/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Enqueue a job
         * @description The body is the payload, of any content type, at most 256 KiB, JSON with at most 60 levels of arrays and objects. The response
         *     follows when the job is stored, before a handler is called. After 503 `enqueue_unconfirmed` the job may or may not be queued:
         *     repeat the request with the same `Idempotency-Key`.
         */
        post: operations["enqueue_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/job-queues/{job_queue}/jobs/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Enqueue several jobs
         * @description Enqueues 1 to 100 jobs with JSON payloads, in order. Each has a result of its own; the others are queued even if one is refused.
         */
        post: operations["enqueue_jobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/job-queues/{job_queue}/jobs/{job}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a job
         * @description Its state, its last attempts and progress messages, its payload and the response that completed it. A completed job is kept for
         *     `result_ttl`. The code that a visitor quotes is a job ID, too.
         */
        get: operations["get_job"];
        put?: never;
        post?: never;
        /**
         * Cancel a job
         * @description Deletes a job that has not been received. A held order becomes a dead letter instead, and its visitor can submit it again.
         */
        delete: operations["cancel_job"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/job-queues/{job_queue}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause a job queue
         * @description It accepts jobs and starts none. Jobs that run are finished. Nothing changes if it is paused already.
         */
        post: operations["pause_job_queue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/job-queues/{job_queue}/receive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Receive jobs
         * @description Leases jobs to the consumer for `timeout` seconds of the job queue. What is not acknowledged, extended or failed by then is
         *     a failed attempt, and is received again. Without a job that is due, the request waits up to `wait_seconds`. Up to 200 requests
         *     with `wait_seconds` are served at a time, and 20 of an operator.
         */
        post: operations["receive_jobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/job-queues/{job_queue}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume a job queue
         * @description Nothing changes if it is not paused.
         */
        post: operations["resume_job_queue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/job-queues/{job_queue}/schedules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the schedules of a job queue
         * @description They are part of its settings. A missed run is made up for if it is at most an hour old.
         */
        get: operations["list_schedules"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/job-queues/{job_queue}/schedules/{schedule}/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run a schedule now
         * @description Enqueues a job of the schedule, beside those at its times.
         */
        post: operations["run_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/job-queues/{job_queue}/secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the signing secret
         * @description Handlers verify calls with it. The audit log records who read it.
         */
        get: operations["get_job_queue_secret"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/job-queues/{job_queue}/secret/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate the signing secret
         * @description Generates a new secret. For 24 hours calls have two signatures, also one of the old secret, so that handlers can be changed
         *     meanwhile. A further rotation within that time ends the oldest secret at once, and needs a confirmation.
         */
        post: operations["rotate_job_queue_secret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/job-queues/{job_queue}/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get job queue stats */
        get: operations["get_job_queue_stats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/job-queues/{job_queue}/webhook/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Test the webhook of a job queue
         * @description Enqueues an event of the type `webhook.test`, which is delivered like every other one. Its job shows what the handler answered.
         */
        post: operations["test_webhook"];
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
         * @description Requires a superuser who signed in or confirmed the password within the last five minutes (`POST /sign-in/proof`).
         *     API tokens are not accepted.
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
         * @description Removes the operator with their API tokens and ends their sign-ins. Needs a confirmation. Requires a superuser who
         *     signed in or confirmed the password within the last five minutes (`POST /sign-in/proof`). API tokens are not
         *     accepted.
         */
        delete: operations["remove_operator"];
        options?: never;
        head?: never;
        /**
         * Update an operator
         * @description Effective from their next request. A new password ends all their sign-ins. Requires a superuser who signed in or
         *     confirmed the password within the last five minutes (`POST /sign-in/proof`). API tokens are not accepted.
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
         * @description For an operator who lost their phone and recovery codes: the next sign-in needs only the password. Requires a
         *     superuser who signed in or confirmed the password within the last five minutes (`POST /sign-in/proof`). API tokens
         *     are not accepted.
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
         * @description Returns the queues that you have access to, with all settings, by ID.
         */
        get: operations["list_queues"];
        put?: never;
        /**
         * Create a queue
         * @description Active from the next request to its hosts. The server sets `epoch`, so that tickets of an earlier queue with this ID are void. With
         *     `validate=true` nothing is written.
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
         * @description Returns all settings; their revision is the `ETag`.
         */
        get: operations["get_queue"];
        put?: never;
        post?: never;
        /**
         * Remove a queue
         * @description Removes the queue with all its sessions. Needs a confirmation, which also says how many held orders of its job queues are not
         *     finished: they are still sent, but their visitors cannot follow them any longer.
         */
        delete: operations["remove_queue"];
        options?: never;
        head?: never;
        /**
         * Update a queue
         * @description Applies a JSON merge patch to the revision in `If-Match`, effective from the next request. If the queue has changed
         *     since that revision, nothing is written and the response contains the current settings. Removing or suspending an event
         *     with lobby tickets, or removing its beacon, needs a confirmation. With `validate=true` nothing is written.
         */
        patch: operations["update_queue"];
        trace?: never;
    };
    "/api/v1/queues/{queue}/attack-mode": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Start attack mode
         * @description From the next request on, for `duration_seconds`: every newcomer needs a pre-ticket and proves work, four times as much as otherwise,
         *     or joins later. Limits of joins are enforced and halved, and clients of suspicious networks do not join. The settings stay as they are. It ends by itself. If it is on already, it ends
         *     `duration_seconds` from now.
         */
        put: operations["start_attack_mode"];
        post?: never;
        /**
         * End attack mode
         * @description The settings apply again from the next request on. Nothing changes if it is off.
         */
        delete: operations["end_attack_mode"];
        options?: never;
        head?: never;
        patch?: never;
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
         * @description Applies the body to the settings of the queue. It needs at least an `id`, and hosts if both queues cannot have the
         *     same. Sessions are not cloned. With `validate=true` nothing is written.
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
         * @description Sets mode, quota, rate and its steps, maximum queue length, times and the message on the queue page to the given values without
         *     `If-Match`. Lowering the quota removes nobody.
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
         * @description Sets the mode `draining`: no new visitors join, waiting visitors are admitted in order of arrival, and then the
         *     queue closes. Any other mode ends it. The statistics of the queue contain the remaining time.
         */
        post: operations["drain_queue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/{queue}/events/{event}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get an event
         * @description Returns an event of a queue with its phase, its draw and its problems.
         */
        get: operations["get_event"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/{queue}/events/{event}/beacon": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Record the value of a beacon
         * @description Records what the beacon of a draw has published, once and between the publication of the round and the end of the event. The order is drawn then.
         *     The signature is not verified here: anyone can compare it with a relay.
         */
        post: operations["record_beacon_value"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/{queue}/events/{event}/report": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the report of an event
         * @description Returns what the queue counted from the opening of the lobby until the event was over, or until now. As CSV it has
         *     the columns `metric` and `value`, with a row for each wait such as `wait_le_60`.
         */
        get: operations["get_event_report"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/{queue}/forecast": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Forecast the line at a quota
         * @description Estimates how long the last waiting visitor would wait with another quota, and when the present line would end. Nothing is
         *     changed. Visitors who join later are not included. Before an event admits visitors, the forecast
         *     is from then on and includes the lobby; otherwise, while nobody is admitted, it presumes that the queue opens now.
         */
        get: operations["get_queue_forecast"];
        put?: never;
        post?: never;
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
         * @description Returns one sample per minute for the last day, or one per five minutes for the last 30 days, as JSON or CSV. Unknown values
         *     are `null` in JSON and empty in CSV.
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
    "/api/v1/queues/{queue}/invitations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the batches of invitations
         * @description Returns the batches of a queue with what prevents their codes from being used: `sale_key_missing`, if the backoffice does not
         *     know the sale key. The gates have the same keys.
         */
        get: operations["list_invitations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/{queue}/invitations/{batch}/codes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the codes of a batch of invitations
         * @description Returns codes of a batch as CSV with the columns `number`, `code` and `link`. Anyone with a code can use its invitation, so
         *     only operators can get them, and each download is in the audit log. Without a code from `from` on, there are no rows. A link
         *     leads to the first host of the queue without a wildcard; if there is none, it has no host.
         */
        get: operations["get_invitation_codes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/{queue}/protection": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the protection of a queue
         * @description Returns what is known about joins and pre-tickets in the last five to ten minutes, and attack mode.
         */
        get: operations["get_queue_protection"];
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
         * @description Admits the next `count` visitors now, regardless of mode, quota and rate. More than 100 need a confirmation, because
         *     they cannot be sent back. While the order of an event is drawn, nobody can be admitted. With an `Idempotency-Key`, a request that is repeated within a day admits nobody again and
         *     returns the first response.
         */
        post: operations["release"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/{queue}/report": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the report of a queue
         * @description Returns what the queue counted since its state began: since it was created or reset, or since the store lost its data.
         *     For queues without events; the format is that of an event's report.
         */
        get: operations["get_queue_report"];
        put?: never;
        post?: never;
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
         * @description Starts a new epoch: all waiting and active visitors lose their position and rejoin at the end, and all tickets
         *     become invalid. All slots are free at once; with the handover `redirect`, passes of visitors who were active stay valid for up
         *     to a minute. Needs a confirmation.
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
         * List visitors of a queue
         * @description Returns a page of its waiting, active or ended sessions. A page may have fewer entries than `limit`: sessions that have
         *     just ended are not listed as active.
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
         * @description By its ID or by the support code on the queue page. An absent session is not found: its position is in the ticket of
         *     the visitor.
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
         * @description Admits one session now, out of order and regardless of mode, quota and rate. While the order of an event is drawn, nobody
         *     can be admitted.
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
         * @description Invalidates its ticket. Its slot becomes free when the last credential of the session has expired: after `recheck_after`, with
         *     the handover `redirect` up to a minute later. A visitor in the lobby of an event does not take part in its draw. Needs a
         *     confirmation.
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
    "/api/v1/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Find a visitor in all queues
         * @description By the support code on the queue page, or by the ID of the session, in all queues that you have access to. The short code
         *     of a waiting visitor finds only waiting sessions.
         */
        get: operations["search_sessions"];
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
         * @description Returns all tenants, queues and job queues that you have access to as one JSON or TOML document, in the format of `POST
         *     /settings` and `vestibule serve --settings`.
         */
        get: operations["export_settings"];
        put?: never;
        /**
         * Import settings
         * @description Creates and updates tenants, queues and job queues from a document. With `validate=true` the response is the plan and
         *     nothing is written; otherwise a confirmation is needed. With `remove=true`, queues and job queues that the document does not
         *     contain are removed, except job queues with jobs or dead letters.
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
         * @description Returns the operator or token of the request with its permissions; `null` without a valid sign-in.
         */
        get: operations["get_current_principal"];
        put?: never;
        /**
         * Sign in
         * @description Returns a cookie for browsers. Attempts are limited. An operator with TOTP gets 401 with `code_required` after the
         *     password; send the same request again with a `code`. Each code is accepted once.
         */
        post: operations["sign_in"];
        /**
         * Sign out
         * @description Ends the sign-in of the cookie. Has no effect with an API token.
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
         * @description Returns what a sign-in page should offer.
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
         * @description For browsers: redirects to the identity provider, or to `/sign-in?problem=<code>` of the dashboard.
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
         * @description For browsers that return from the identity provider: signs in and redirects to `/`, or to `/sign-in?problem=<code>`
         *     of the dashboard.
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
         * @description Ends all other sign-ins of this operator. API tokens are not accepted.
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
         * @description Allows the sign-in of the cookie to manage operators for five minutes. API tokens are not accepted. Operators without a password
         *     sign in again at the identity provider instead.
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
         * @description Needs the password and a first code. From then on, a sign-in with the password also needs a code. Ends all other
         *     sign-ins that used the password alone, and returns recovery codes that are shown only once.
         */
        put: operations["confirm_totp_setup"];
        /**
         * Start TOTP setup
         * @description Generates a secret for an authenticator app. TOTP is active after `PUT /sign-in/totp` confirms it within ten
         *     minutes. API tokens are not accepted.
         */
        post: operations["start_totp_setup"];
        /**
         * Turn off TOTP
         * @description Requires an operator who signed in or confirmed the password within the last five minutes (`POST /sign-in/proof`).
         *     API tokens are not accepted.
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
         * @description Returns the statistics of all queues that you have access to.
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
         * @description Sends server-sent events `stats` every two seconds with the statistics of all queues that you have access to. A
         *     stream ends after five minutes, when the store is unavailable, and seconds after the sign-in or token has ended;
         *     reconnecting returns the error. An operator can open 20 streams. Where streaming is not available, poll `/stats`.
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
         * @description Returns the tenants that you have access to, by ID.
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
         * @description Only a tenant without queues, job queues and themes can be removed. Needs a confirmation, which names the operators who keep
         *     the ID of the tenant and so get access to a later tenant with it. Superusers can still read its audit events; a later tenant
         *     with the same ID does not see them.
         */
        delete: operations["remove_tenant"];
        options?: never;
        head?: never;
        /**
         * Update a tenant
         * @description Applies a JSON merge patch. Pages show it within seconds. Only superusers can change `domains`, `origins` and
         *     `max_job_queues`, and the lists only to such that cover all queues of the tenant.
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
         * @description Returns the themes that you have access to, by ID. `default` is for queues without a theme.
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
         * @description Removes the theme permanently with all its versions, and files that were copied into the folder. Fails while a queue uses it. Needs a confirmation.
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
         * @description Visitors of its queues see the theme `default` or the built-in page within seconds. Versions are kept, and so are
         *     files that were copied into the folder, which visitors do not see either. Needs no confirmation, because activating a
         *     version undoes it. Has no effect on an inactive theme.
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
         * @description Returns the files that gates use now as a ZIP archive that can be uploaded: those of the active version, or without any
         *     activation those that were copied into the folder.
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
         * @description Returns the page with sample data for an iframe. The page runs no script and has no access to the backoffice. For a
         *     theme that does not exist it is the built-in page in the colors of the tenant. With an `event`, it counts down to it.
         *     With a `message`, it shows that. With a `queue`, everyone who can view the queue can view the page of the active
         *     version, also of the theme `default`, which queues without a theme use, and of shared themes.
         */
        get: operations["preview_theme"];
        put?: never;
        /**
         * Preview a theme draft
         * @description Renders pages from the given templates with sample data. Nothing is stored, and no visitor sees them. Send templates
         *     only; the client inserts the other files of the theme where `asset_base` appears. Send at most one request per
         *     second. The body is limited to 1 MB.
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
         * @description Returns the versions, newest first. The last 50 and the active version are kept. Uploads add versions and do not
         *     change the revision.
         */
        get: operations["list_theme_versions"];
        put?: never;
        /**
         * Upload a theme version
         * @description Validates all pages in all states and languages and stores the files as the newest version, which never changes.
         *     Visitors see it after activation, so uploads need no `If-Match`. An invalid theme is rejected with file and line of each error. Limits: 16 MB as a ZIP archive or base64
         *     (1 MB through a load balancer in front of a Lambda function), 64 MB unpacked, 1000 files, 2 MB per file, 256 KB per
         *     template. With `validate=true` nothing is stored.
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
         * @description Validates a version, the newest or an older one, and shows it to visitors within seconds. Needs no confirmation,
         *     because activating the previous version undoes it. If the theme was activated or deactivated since the revision in
         *     `If-Match`, nothing is changed.
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
         * @description Returns the files as a ZIP archive that can be uploaded again.
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
         * @description Returns your own tokens; superusers see all. An API token sees itself only.
         */
        get: operations["list_tokens"];
        put?: never;
        /**
         * Create an API token
         * @description Requires a signed-in operator; API tokens are not accepted. An operator has at most 100 tokens. Tokens that have expired are
         *     removed when one is created.
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
         * @description Revokes one of your own tokens; superusers can revoke any. An API token can revoke itself only. Effective immediately.
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
         * @description Returns which queue matches the request, and why.
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
        /** @description Jobs that are done. */
        AcknowledgeRequest: {
            /** @description Their receipt handles. */
            receipt_handles: string[];
        };
        /** @description Whether a session was admitted. */
        AdmitResult: {
            /** @description `false` if the session was already active or has ended. */
            admitted: boolean;
        };
        /** @description How long attack mode lasts. */
        AttackModeRequest: {
            /**
             * Format: int64
             * @description Seconds from now.
             */
            duration_seconds: number;
        };
        /** @description Attack mode of a queue. */
        AttackModeState: {
            /**
             * Format: int64
             * @description When it ends, in seconds since 1970; `null` if it is off.
             */
            attack_mode_until?: number | null;
        };
        /** @description An event of the audit log. */
        AuditEvent: {
            /** @description The action, such as `queue.update`. */
            action: string;
            /**
             * Format: int64
             * @description Time in seconds since 1970, by the clock of the store.
             */
            at?: number;
            /** @description Changed fields with old and new values; of long values the changed parts, such as `events.sale.name`. */
            changes: components["schemas"]["FieldChange"][];
            /** @description ID of the event; IDs increase with time. */
            id?: string;
            /** @description Name of the operator; `null` for a failed sign-in with an unknown name. */
            operator?: string | null;
            /** @description Whether the action was completed. */
            outcome?: components["schemas"]["AuditOutcome"];
            /** @description The affected queue. */
            queue?: string | null;
            /** @description ID of the request. */
            request: string;
            /**
             * Format: int64
             * @description Revision of the queue settings, or of the theme, after the change.
             */
            revision?: number | null;
            /** @description Another affected object: a session, operator, token, theme or job queue. */
            subject?: string | null;
            /** @description The affected tenant. */
            tenant?: string | null;
            /** @description ID of the API token. */
            token?: string | null;
            /** @description How the change was made. */
            via?: components["schemas"]["Via"];
        };
        /**
         * @description Whether an action was completed.
         * @enum {string}
         */
        AuditOutcome: "done" | "incomplete" | "unknown";
        /** @description A page of the audit log. */
        AuditPage: {
            /** @description The events, newest first. */
            events: components["schemas"]["AuditEvent"][];
            /**
             * @description Start of the next page as `before`; `null` at the end. A page can have few events although more follow:
             *     a search scans a part of the log at a time.
             */
            next?: string | null;
        };
        /** @description What a beacon has published. */
        BeaconDraft: {
            /**
             * Format: int64
             * @description The round that the event names.
             */
            round: number;
            /** @description The signature of the round, in hexadecimal digits. */
            signature: string;
        };
        /** @description The beacon of a draw. */
        BeaconState: {
            /** @description Where a relay publishes it. */
            address: string;
            /** @description Hash of the chain, in hexadecimal digits. */
            chain: string;
            /** @description When the round is published, in RFC 3339. */
            published_at: string;
            /** @description SHA-256 of the signature, in hexadecimal digits; `null` until it is recorded. */
            randomness?: string | null;
            /** @description When the value was recorded and the order drawn, in RFC 3339; `null` before. */
            received_at?: string | null;
            /**
             * Format: int64
             * @description The round that the draw uses.
             */
            round: number;
            /** @description The signature of the round, in hexadecimal digits; `null` until it is recorded. */
            signature?: string | null;
            /**
             * @description `announced` before its round is published, `missing` until the value is recorded, `recorded`, or `missed` if it was not
             *     recorded before the end of the event.
             */
            status: string;
        };
        /** @description The recorded value of a beacon. Anyone can compare it with what the beacon has published. */
        BeaconValue: {
            /** @description SHA-256 of the signature, in hexadecimal digits. */
            randomness: string;
            /**
             * Format: date-time
             * @description When the value was recorded, by the clock of the store. The order is drawn then.
             */
            received_at: string;
            /**
             * Format: int64
             * @description The round.
             */
            round: number;
            /** @description The signature of the round, in hexadecimal digits. */
            signature: string;
        };
        /** @description A group whose later jobs wait because its first one fails. */
        BlockedGroupView: {
            /**
             * Format: int64
             * @description Seconds since an attempt of that job ended without success for the first time.
             */
            age: number;
            /** @description ID of the first job of the group. */
            job_id: string;
        };
        /** @description The settings, or with `validate=true` what would be written. */
        Changed: components["schemas"]["QueueSettings"] | components["schemas"]["Validated"];
        /** @description A client that a rule classifies. */
        ClassifiedClient: {
            /** @description Its action: `block`, `challenge` or `trust`. */
            action: string;
            /** @description Index of the matching rule, from 0. */
            rule: number;
        };
        /** @description The response that completed a job. */
        CompletingResponse: {
            /** @description The start of the body, if it is text. `null` for held orders, whose responses are for their visitors. */
            body?: string | null;
            /** @description Where it redirects to; held orders only. */
            location?: string | null;
            /**
             * Format: int32
             * @description Its status.
             */
            status: number;
        };
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
        /** @description The settings of a queue. Times are in seconds. */
        Controls: {
            /**
             * Format: int64
             * @description Seconds after a visit until an active session expires. Default: 600.
             */
            active_ttl?: number | null;
            /**
             * Format: int64
             * @description Seconds between steps: visitors are admitted at whole multiples of it since 1970, as many as `admissions_per_minute` allows for that time. `null` for evenly.
             */
            admissions_every?: number | null;
            /**
             * Format: int64
             * @description Maximum admissions per minute; `null` for no limit.
             */
            admissions_per_minute?: number | null;
            /**
             * Format: int64
             * @description Seconds for which an admission is held for an absent visitor, and for which an unconfirmed session keeps its position. Default: 30.
             */
            claim_ttl?: number | null;
            /**
             * Format: int64
             * @description Seconds after the last visit for which a ticket restores its position. Default: 600.
             */
            hold_ttl?: number | null;
            /**
             * Format: int64
             * @description Maximum length of an active session in seconds; `null` for no limit.
             */
            max_session?: number | null;
            /**
             * Format: int64
             * @description Maximum number of waiting visitors; `null` for no limit. Newcomers beyond it do not join.
             */
            max_waiting?: number | null;
            /** @description Plain text shown on the queue's pages to visitors who wait: `default`, and language tags such as `de` for other languages. `null` for none. */
            message?: ({
                default: string;
            } & {
                [key: string]: string;
            }) | null;
            /**
             * @description Mode of the queue. Default: "open".
             * @enum {string|null}
             */
            mode?: "open" | "bypass" | "paused" | "closed" | "draining" | "scheduled" | null;
            /**
             * Format: int64
             * @description Maximum number of active visitors.
             */
            quota?: number;
            /**
             * Format: int64
             * @description Seconds after a visit until a waiting session expires; more if it has long to wait. Default: 60.
             */
            waiting_ttl?: number | null;
        };
        /** @description A new token with its secret, which is shown only once. */
        CreatedToken: {
            /** @description Send it as `Authorization: Bearer <secret>`. It is not stored; if you lose it, create a new token. */
            secret: string;
            /** @description The token. */
            token: components["schemas"]["TokenView"];
        };
        /** @description Name and password. */
        Credentials: {
            /** @description A code of the authenticator app or a recovery code, for an operator with TOTP. */
            code?: string | null;
            /** @description Name of the operator. */
            name: string;
            /**
             * Format: password
             * @description Their password.
             */
            password: string;
        };
        /** @description The current operator or token. */
        CurrentPrincipal: {
            /**
             * Format: int64
             * @description Latest end of the sign-in in seconds since 1970; `null` with a token.
             */
            ends_at?: number | null;
            /** @description Name of the operator. */
            operator: string;
            /** @description The effective role. */
            role: components["schemas"]["Role"];
            /** @description The accessible tenants; `null` for all. */
            tenants?: string[] | null;
            /** @description ID of the API token. */
            token?: string | null;
            /** @description State of TOTP. */
            totp: components["schemas"]["TotpStatus"];
        };
        /** @description A page of dead letters. */
        DeadLetterPage: {
            /** @description The dead letters, the newest first, without payloads and progress. */
            dead_letters: components["schemas"]["Job"][];
            /** @description Start of the next page as `before`; `null` at the end. */
            next?: string | null;
        };
        /** @description Some dead letters, or all. */
        DeadLetterSelection: {
            /** @description All dead letters that there are now. */
            all?: boolean | null;
            /** @description IDs of the jobs. */
            job_ids?: string[] | null;
        };
        /** @description What a deletion has done. */
        DeletedDeadLetters: {
            /**
             * @description Whether all wanted jobs were considered. `false`: there are more, or the store stopped responding and more may
             *     have been deleted; repeat the request.
             */
            complete: boolean;
            /**
             * Format: int64
             * @description Dead letters that were deleted.
             */
            deleted: number;
        };
        /** @description A template of a draft. */
        DraftTemplate: {
            /** @description Its path within the theme: `queue.html`. */
            path: string;
            /** @description Its text. */
            text: string;
        };
        /** @description What draining has done. */
        DrainedJobs: {
            /**
             * Format: int64
             * @description Jobs that were canceled.
             */
            canceled: number;
            /**
             * @description Whether no job waits any more. `false`: there are more, or the store stopped responding and more may
             *     have been canceled; repeat the request.
             */
            complete: boolean;
        };
        /** @description The draw of an event: the commitment in advance, and after the draw what anyone needs to check it. */
        DrawState: {
            beacon?: components["schemas"]["BeaconState"] | null;
            /** @description When the beacon was removed after the start, in RFC 3339; `null` if it was not. */
            beacon_removed_at?: string | null;
            /** @description SHA-256 of the secret, in hexadecimal digits. `null` if the backoffice does not know the sale key. */
            commitment?: string | null;
            /** @description When the drawn order is complete and admissions begin, in RFC 3339; `null` while the value of the beacon is missing. */
            ends_at?: string | null;
            /** @description ID of the sale key from which the secret derives. */
            key: string;
            /** @description The text from which the secret derives. */
            salt: string;
            /** @description The secret, in hexadecimal digits; `null` before the draw. */
            secret?: string | null;
            /** @description The seed of the numbers, in hexadecimal digits; `null` before the draw. */
            seed?: string | null;
        };
        /** @description A session that was ended. */
        EndedSession: {
            /** @description State before the end. */
            previous_state: components["schemas"]["PreviousState"];
        };
        /** @description A job that was enqueued. */
        EnqueuedJob: {
            /** @description Whether the job equals an earlier one and was not queued. */
            duplicate: boolean;
            /** @description ID of the job; of the earlier one if this is a duplicate. */
            job_id: string;
            /** @description ID of the job queue. */
            job_queue: string;
            /**
             * @description `queued`; for a duplicate the state of the earlier job, as `GET /job-queues/{job_queue}/jobs/{job}` returns it, or `completed` if
             *     its result has expired.
             */
            state: string;
        };
        /**
         * @description Identifies a text; codes are stable, and new ones may be added. `x-english` contains all texts with placeholders such as `{most}`, which `params` fill.
         * @enum {string}
         */
        ErrorCode: "invalid_value" | "invalid" | "empty" | "required" | "unknown_field" | "more_errors" | "duplicate_id" | "unknown_tenant" | "hold_ttl_too_short" | "claim_ttl_too_short" | "step_without_rate" | "lobby_time" | "event_duration" | "draw_duration" | "beacon_needs_draw" | "draw_seconds_with_beacon" | "beacon_value" | "beacon_removed_at" | "recorded_by_server" | "beacon_locked" | "unknown_sale_key" | "no_sale_keys" | "no_sale_keys_to_invite" | "batch_number_taken" | "batch_id_taken" | "until_before_from" | "event_id_taken" | "event_too_early" | "lobby_locked" | "start_locked" | "draw_locked" | "epoch_outdated" | "lobby_soon" | "start_soon" | "event_past" | "not_scheduled" | "quota_zero" | "hold_ttl_for_draw" | "host_not_covered" | "host_outside" | "any_host" | "origin_outside" | "cookie_domain_outside" | "public_suffix" | "superusers_only" | "no_entries" | "rule_without_condition" | "class_needs_header" | "no_client_condition" | "only_with_hold" | "hold_needs_fifo" | "no_orders_job_queue" | "hold_methods" | "hold_needs_proxy" | "header_test" | "header_range" | "untrusted_header" | "too_many_paths" | "host_taken" | "never_applies" | "hides_other" | "rule_repeated" | "foreign_queue" | "whole_number" | "one_of" | "no_proof_of_work" | "jwks_or_keys" | "keys_of_alb" | "alb_arn" | "sign_in_required" | "key_set" | "identity_source" | "https_url" | "sign_in_url" | "classified_networks" | "or_none" | "object" | "text" | "string_map" | "list" | "list_at_most" | "id" | "name" | "host" | "origin" | "cookie_domain" | "path_glob" | "method" | "value_text" | "source" | "network" | "address" | "color" | "domain" | "origin_pattern" | "message_text" | "operator_message" | "language_tag" | "tag_twice" | "salt" | "signature" | "hex_32" | "key_id" | "any_json" | "job_queue_id" | "job_key" | "handler_url" | "signing_secret" | "media_type" | "http_target_only" | "origin_target_only" | "job_queue_stays" | "too_many_job_queues" | "job_queue_tenant" | "orders_kind" | "origin_needs_fifo" | "origin_producers" | "max_backoff_too_short" | "cron" | "time_zone" | "schedule_payload" | "schedule_payloads_too_large" | "schedule_payload_json" | "schedule_group" | "schedule_group_unused" | "schedule_of_orders" | "schedule_id_taken" | "webhook_queue" | "webhook_producers" | "timestamp" | "logo" | "not_signed_in" | "credential_invalid" | "wrong_password" | "password_required" | "sign_in_again" | "code_required" | "wrong_code" | "totp_setup_required" | "totp_exists" | "no_totp_setup" | "rate_limited" | "too_many_changes" | "permission_denied" | "no_request_header" | "not_found" | "route_not_found" | "method_not_allowed" | "invalid_body" | "too_large" | "wrong_content_type" | "validation_failed" | "queues_outside" | "event_locked" | "no_report" | "invitation_key_missing" | "no_beacon" | "beacon_recorded" | "beacon_round" | "draw_in_progress" | "routing_conflict" | "already_exists" | "not_empty" | "has_job_queues" | "has_themes" | "theme_in_use" | "last_superuser" | "limit_reached" | "concurrent_change" | "revision_conflict" | "revision_required" | "confirmation_required" | "streaming_unavailable" | "too_many_streams" | "theme_storage_not_configured" | "theme_invalid" | "theme_storage_unavailable" | "no_job_queues" | "pull_needs_redis" | "unknown_job_queue" | "unknown_job" | "no_signing_secret" | "unknown_schedule" | "no_webhook" | "job_queue_not_empty" | "pull_not_supported" | "too_many_receives" | "lease_ended" | "job_leased" | "job_finished" | "unknown_dead_letter" | "not_replayable" | "job_queue_in_use" | "held_orders_only" | "group_required" | "group_not_supported" | "delay_not_supported" | "invalid_id" | "invalid_json" | "empty_payload" | "payload_too_large" | "job_queue_full" | "not_queued" | "enqueue_unconfirmed" | "jobs_unavailable" | "store_unavailable" | "data_unreadable" | "outcome_unknown" | "this_id" | "this_name" | "an_operator" | "a_tenant" | "a_token" | "a_queue" | "an_event" | "a_batch" | "a_session" | "a_theme" | "a_version" | "role_operator" | "role_superuser" | "signed_in_operator" | "operator_with_password" | "unlimited_token" | "not_an_object" | "not_json" | "not_an_archive" | "not_understood" | "unknown_control" | "clone_needs_id" | "not_the_password" | "not_the_code" | "immutable" | "immutable_clone" | "immutable_reset" | "superuser_only" | "foreign_theme" | "takes_themes" | "logo_not_found" | "unreadable" | "repeated_parameter" | "duplicate" | "not_base64" | "role_above_own" | "no_such_tenant" | "tenant_not_accessible" | "superuser_has_all" | "needs_tenant" | "operator_name" | "new_password" | "password" | "code" | "support_code" | "page_start" | "sale_key_missing" | "url" | "some_or_all" | "user_id_format" | "session_id_format" | "content_type_format" | "job_id_format" | "revision" | "idempotency_key" | "key_used" | "entry_id" | "version_id" | "rule_queued" | "no_rules" | "unmatched_queued" | "rule_bypassed" | "too_many_readings" | "no_rule_matched" | "will_release" | "will_void_lobby_tickets" | "will_void_unused_tickets" | "will_void_uncounted_tickets" | "will_remove_beacon" | "will_remove_beacon_uncounted" | "both" | "will_reset" | "will_remove_queue" | "will_leave_orders" | "will_remove_job_queue" | "will_end_secret" | "will_drain_job_queue" | "will_cancel_orders" | "will_delete_dead_letters" | "will_delete_orders" | "will_remove_operator" | "will_remove_tenant" | "will_leave_operators" | "will_remove_theme" | "will_remove_unversioned_theme" | "will_end_session" | "will_import" | "will_import_job_queues" | "theme_unreadable" | "theme_file_too_large" | "too_many_templates" | "too_many_files" | "no_files" | "not_a_theme_file" | "upper_case_ending" | "not_utf8" | "template_fault" | "no_script_tags";
        /** @description An evaluated queue. */
        EvaluatedQueue: {
            client?: components["schemas"]["ClassifiedClient"] | null;
            /** @description The matching host of the queue. */
            host?: string | null;
            /** @description The code and parameters of the reason, for other languages. */
            message: components["schemas"]["Message"];
            /** @description The queue; `null` without access to it. */
            queue?: string | null;
            /** @description The reason in English. */
            reason: string;
            /** @description Index of the matching rule with `queue` or `bypass`, from 0; `null` for none. */
            rule?: number | null;
        };
        /** @description A sale with its times. Times are in RFC 3339 with an offset, in whole seconds. */
        Event: {
            /**
             * @description A public random value that nobody knows before the start, and from which the draw then derives as well: `drand-quicknet`. Nobody is admitted until it is recorded.
             * @enum {string}
             */
            beacon?: "drand-quicknet";
            /**
             * Format: date-time
             * @description When the beacon was removed after the start, which is then when the order is drawn. The server records it. Settings can only repeat it.
             */
            beacon_removed_at?: string;
            /** @description The value of the beacon, which the server records once. Settings can only repeat it. */
            beacon_value?: components["schemas"]["BeaconValue"];
            /**
             * Format: int64
             * @description Seconds after the start in which visitors of the lobby join the line in their drawn order and nobody is admitted. By default 30, with a beacon 45, which is then the minimum.
             */
            draw_seconds?: number;
            /**
             * Format: date-time
             * @description When the sale ends, 60 seconds to 30 days after the start. Visitors in line are still admitted.
             */
            ends_at: string;
            /** @description ID of the event, unique in the queue. */
            id: string;
            /** @description ID of the sale key from which the secret of the draw derives. By default that of the stored event, or the first sale key if it is new. */
            key?: string;
            /**
             * Format: date-time
             * @description When the lobby opens, 60 seconds to 24 hours before the start. By default 30 minutes before it.
             */
            lobby_at?: string;
            /** @description Name shown to visitors, by default that of the queue. */
            name?: string;
            /**
             * @description Order of admissions: `draw` or `arrival`. Default: "draw".
             * @enum {string}
             */
            order?: "draw" | "arrival";
            /** @description A text from which the secret of the draw derives. By default that of the stored event, or its start in seconds since 1970 if it is new. */
            salt?: string;
            /**
             * Format: date-time
             * @description When the sale starts. Admissions begin then, or, with a draw, `draw_seconds` after the order is drawn.
             */
            starts_at: string;
            /** @description Whether the queue ignores the event. */
            suspended?: boolean;
        };
        /** @description An event and what it does now. */
        EventState: {
            draw?: components["schemas"]["DrawState"] | null;
            /** @description When the sale ends, in RFC 3339. */
            ends_at: string;
            /** @description ID of the event. */
            id: string;
            /** @description When the lobby opens, in RFC 3339. */
            lobby_at: string;
            /**
             * Format: int64
             * @description Lobby tickets that were issued. `null` for an event in order of arrival, and while the queue does not follow the event.
             */
            lobby_tickets?: number | null;
            /** @description Name of the event, by default that of the queue. */
            name: string;
            /** @description `upcoming`, `lobby`, `draw`, `running`, `ending`, `over` or `suspended`. It says what the times mean, whatever the mode of the queue. */
            phase: string;
            /** @description What prevents the event from taking place as planned. */
            problems: components["schemas"]["Message"][];
            /** @description When the sale starts, in RFC 3339. Admissions begin then, or, with a draw, at `draw.ends_at`. */
            starts_at: string;
            /**
             * Format: double
             * @description Seconds until the start by the clock of the store, negative afterwards.
             */
            starts_in: number;
        };
        /** @description The phase of a scheduled queue. */
        EventStats: {
            /** @description Whether the draw waits for the value of its beacon, so that nobody is admitted. */
            awaits_beacon: boolean;
            /**
             * Format: int64
             * @description When the drawn order is complete and admissions begin, in seconds since 1970; `null` for an event in order of arrival, and
             *     while the value of the beacon is missing.
             */
            draw_ends_at?: number | null;
            /**
             * Format: int64
             * @description When it ends, in seconds since 1970.
             */
            ends_at?: number | null;
            /** @description The current event, in `idle` the next one; `null` if there is none. */
            id?: string | null;
            /**
             * Format: int64
             * @description When its lobby opens, in seconds since 1970.
             */
            lobby_at?: number | null;
            /**
             * Format: int64
             * @description Lobby tickets that were issued for the event; `null` for an event in order of arrival.
             */
            lobby_tickets?: number | null;
            /** @description Its name. */
            name?: string | null;
            /** @description The phase: `idle`, `lobby`, `draw`, `running` or `ending`. */
            phase: string;
            /**
             * Format: int64
             * @description When it starts, in seconds since 1970.
             */
            starts_at?: number | null;
            /**
             * Format: double
             * @description Seconds until the start, negative afterwards.
             */
            starts_in?: number | null;
        };
        /** @description Jobs that take longer. */
        ExtendRequest: {
            /** @description Their receipt handles. */
            receipt_handles: string[];
            /**
             * Format: int64
             * @description For how many seconds from now on the leases last, at least.
             */
            seconds: number;
        };
        /** @description Jobs that failed. */
        FailRequest: {
            /** @description The jobs. */
            jobs: components["schemas"]["FailedJob"][];
        };
        /** @description A job that failed. */
        FailedJob: {
            /** @description Whether no other attempt can succeed. The job becomes a dead letter at once. */
            permanent?: boolean;
            /** @description Why, for operators. */
            reason?: string;
            /** @description Its receipt handle. */
            receipt_handle: string;
            /** @description Whether the job was not started. It is received again at once, and this is not a failed attempt. */
            requeue?: boolean;
        };
        /** @description A changed field. */
        FieldChange: {
            /** @description Name of the field. */
            field: string;
            /** @description The old value. */
            from: unknown;
            /** @description The new value. */
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
        /** @description A session and its queue. */
        FoundSession: components["schemas"]["SessionView"] & {
            /** @description ID of the queue. */
            queue: string;
            /** @description Name of the queue. */
            queue_name: string;
            /** @description ID of the queue's tenant. */
            tenant: string;
        };
        /** @description How admitted visitors reach the site. */
        Handover: {
            /**
             * @description `redirect`, `proxy` or `check`.
             * @enum {string}
             */
            kind: "redirect" | "proxy" | "check";
            /** @description Scheme, host and port of the site; optional with `check`. */
            origin?: string;
            /**
             * @description Who answers CORS preflights: the gate, for pages of the queue's hosts and origin, or the origin. Default: "answer".
             * @enum {string}
             */
            preflights?: "answer" | "forward";
        };
        /** @description A header that a request must have with exactly this value; or, for headers of `VESTIBULE_TRUSTED_HEADERS`, an integer in a range, or its presence. */
        HeaderCondition: {
            /**
             * Format: int64
             * @description The header is an integer above this one.
             */
            above?: number;
            /**
             * Format: int64
             * @description The header is an integer below this one.
             */
            below?: number;
            /** @description Name of the header (case-insensitive). */
            name: string;
            /** @description Whether the request has the header. */
            present?: boolean;
            /** @description The required value. */
            value?: string;
        };
        /** @description How the account of a visitor is known. An account has one session in the queue. */
        Identity: {
            /** @description Audiences of the tokens, one of which must be in the claim `aud`. With `alb`, the ARNs of the load balancers. */
            audience: string[];
            /** @description The claim that names the account. Default: "sub". */
            claim?: string;
            /** @description Where the token is looked for, in this order: `cookie:NAME`, or `header:NAME` if a trusted proxy sets the header. Endpoints of the gate also take `Authorization: Bearer`. With `alb`, `header:x-amzn-oidc-data` by default. */
            from?: string[];
            /** @description The issuer of the tokens: their claim `iss`. */
            issuer: string;
            /** @description Address of the JWK set that verifies the tokens; its origin must be one of the tenant's. With `alb`, the address below which the keys of the load balancer's region are, if that is not the usual one. */
            jwks?: string;
            /** @description ID of the ticket key from which the sessions of accounts derive. By default the first ticket key: then every account gets another session when the keys rotate. */
            key_id?: string;
            /** @description The JWK set itself, in place of `jwks`: public keys for RS256, ES256 or `EdDSA`. */
            keys?: {
                keys: Record<string, never>[];
            };
            /**
             * @description Who signs the tokens: `jwt` for the site, `alb` for a load balancer of AWS. Default: "jwt".
             * @enum {string}
             */
            kind?: "jwt" | "alb";
            /** @description Whether nobody joins without an account. */
            required?: boolean;
            /** @description Address of the page on which visitors sign in; its origin must be one of the tenant's. `{return}` stands for the address to which they return. */
            sign_in?: string;
        };
        /** @description Tokens of accounts. */
        IdentityCounts: {
            /**
             * Format: int64
             * @description Tokens that were accepted.
             */
            accepted: number;
            /**
             * Format: int64
             * @description Tokens that were rejected: forged, expired, or of somebody else.
             */
            rejected: number;
        };
        /** @description The result of an import. */
        ImportResult: {
            /** @description Whether the plan was applied. */
            applied: boolean;
            /** @description The planned changes. */
            plan: components["schemas"]["Plan"];
            /** @description Queues that were skipped because someone else changed them. */
            skipped: string[];
            /** @description Job queues that were skipped because someone else changed them, or that were not removed because they have jobs. */
            skipped_job_queues: string[];
        };
        /** @description A batch of invitation codes. Times are in RFC 3339 with an offset, in whole seconds. */
        InvitationBatch: {
            /**
             * Format: int64
             * @description How many codes the batch has. Codes with a higher number are not valid.
             */
            count: number;
            /**
             * Format: date-time
             * @description When the codes become valid. By default they are at once.
             */
            from?: string;
            /**
             * Format: int64
             * @description Seconds by which invited visitors join ahead of others. Default: 0.
             */
            head_start?: number;
            /** @description ID of the batch, unique in the queue. */
            id: string;
            /** @description ID of the sale key from which the codes derive. By default that of the stored batch, or the first sale key if it is new. */
            key?: string;
            /** @description Name shown to operators, by default the ID. */
            name?: string;
            /**
             * Format: int64
             * @description Number of the batch, from 1 to 65,535. Its codes contain it, so never use it for another batch.
             */
            number: number;
            /** @description Whether the codes are no longer valid. */
            revoked?: boolean;
            /**
             * Format: date-time
             * @description When the codes expire. By default never.
             */
            until?: string;
        };
        /** @description The batches of invitations of a queue. */
        InvitationList: {
            /** @description The batches, in the order of the settings. */
            invitations: components["schemas"]["InvitationState"][];
        };
        /** @description What prevents the codes of a batch from being used. */
        InvitationState: {
            /** @description ID of the batch. */
            id: string;
            /** @description ID of the sale key from which the codes derive. */
            key: string;
            /**
             * Format: int64
             * @description Number of the batch.
             */
            number: number;
            /** @description What prevents the codes from being used, besides the settings of the batch. */
            problems: components["schemas"]["Message"][];
        };
        /** @description A job. */
        Job: {
            /**
             * Format: int64
             * @description How many jobs start before it, if nothing changes. 0 unless the job waits; `null` if they cannot be counted.
             */
            ahead?: number | null;
            /** @description The last attempts, the oldest first. */
            attempts: components["schemas"]["JobAttempt"][];
            /** @description Media type of the payload; `null` once the job is completed. */
            content_type?: string | null;
            /**
             * Format: int64
             * @description When the next attempt is due, in seconds since 1970; `null` unless the job waits.
             */
            due_at?: number | null;
            /**
             * Format: int64
             * @description When the job was completed or became a dead letter, in seconds since 1970.
             */
            ended_at?: number | null;
            /**
             * Format: int64
             * @description When the job was accepted, in seconds since 1970.
             */
            enqueued_at: number;
            /**
             * Format: int64
             * @description How many attempts failed.
             */
            failed_attempts: number;
            /** @description The group, in a FIFO job queue. */
            group_id?: string | null;
            /** @description ID of the job. */
            job_id: string;
            /** @description ID of the job queue. */
            job_queue: string;
            /** @description Path and query of the visitor's request; `null` once the job is completed. */
            params?: unknown;
            /** @description The payload: JSON, or text. */
            payload?: unknown;
            /** @description The payload in base64 if it is neither text nor JSON of at most 60 levels. */
            payload_base64?: string | null;
            /** @description The last progress messages of the handler, the oldest first. Lists of jobs leave them out. */
            progress: components["schemas"]["JobProgressMessage"][];
            /** @description Why the job is a dead letter. */
            reason?: string | null;
            /**
             * Format: int64
             * @description How many times the job was received.
             */
            receive_count: number;
            /** @description What became of a held order whose outcome was unknown: `placed` or `not_placed`, as an operator has recorded it. */
            resolution?: string | null;
            /** @description The start of the last response that reported a failure. */
            response?: string | null;
            result?: components["schemas"]["CompletingResponse"] | null;
            /**
             * Format: int64
             * @description Number of the job in the order of acceptance.
             */
            sequence_number: number;
            /** @description The session of the visitor who may follow the job. */
            session?: string | null;
            /**
             * @description `queued`, `running`, `retrying`, `completed`, `failed` for a dead letter, or `unknown` for a held order that the origin
             *     may have processed.
             */
            state: string;
            /** @description The user for whom the job runs. */
            user_id?: string | null;
        };
        /** @description An attempt that ended. */
        JobAttempt: {
            /**
             * Format: int64
             * @description When it ended, in seconds since 1970.
             */
            ended_at: number;
            /**
             * @description Why it failed: `status`, `permanent`, `timeout`, `connection`, `address_refused`, `lease_expired`, `reported` by
             *     a consumer, `expired`, `canceled` or `payload_lost`; `null` if it succeeded.
             */
            reason?: string | null;
            /**
             * Format: int64
             * @description Number of the receive.
             */
            receive_count: number;
            /**
             * Format: int64
             * @description When it began, in seconds since 1970.
             */
            started_at: number;
            /**
             * Format: int32
             * @description Status of the response.
             */
            status?: number | null;
        };
        /** @description A job to enqueue. */
        JobDraft: {
            /** @description A job with the ID of an earlier one is a duplicate and is not queued. */
            deduplication_id?: string;
            /**
             * Format: int64
             * @description Seconds until the job is due. Standard job queues only. Default: 0.
             */
            delay?: number;
            /** @description The group; required in a FIFO job queue. */
            group_id?: string;
            /** @description The payload, any JSON value. It reaches the handler as JSON. */
            payload: Record<string, never> | unknown[] | string | number | boolean | null;
            /** @description The session of the visitor who may follow the job: `sub` of the pass, or `X-Vestibule-Session`. */
            session?: string;
            /** @description The user of your site for whom the job runs. */
            user_id?: string;
        };
        /** @description A progress message of the handler. */
        JobProgressMessage: {
            /**
             * Format: int64
             * @description When it arrived, in seconds since 1970.
             */
            at: number;
            /**
             * Format: int64
             * @description Number of the message, from 1.
             */
            id: number;
            /** @description The message, any JSON value. */
            message: unknown;
        };
        /** @description The settings of a job queue. Times are in seconds. */
        JobQueueDraft: {
            /** @description Content types that visitors can enqueue. The API takes every type. */
            accepts?: string[] | null;
            /**
             * Format: int64
             * @description Maximum number of jobs that run at a time. Default: 10.
             */
            concurrency?: number | null;
            /**
             * Format: int64
             * @description Seconds for which dead letters are kept. Default: 1209600.
             */
            dead_letter_retention?: number | null;
            /**
             * Format: int64
             * @description Seconds after acceptance during which an equal job of a FIFO job queue is a duplicate. Default: 300.
             */
            deduplication_interval?: number | null;
            /**
             * Format: int64
             * @description Maximum number of jobs that start per minute; no limit if it is absent.
             */
            dispatches_per_minute?: number | null;
            /**
             * Format: int64
             * @description Maximum number of jobs that a session enqueues per minute. Default: 10.
             */
            enqueues_per_minute?: number | null;
            /** @description ID of the job queue. A FIFO job queue ends with `.fifo`. */
            id: string;
            /**
             * Format: int64
             * @description Failed attempts after which a job becomes a dead letter. Default: 8.
             */
            max_attempts?: number | null;
            /**
             * Format: int64
             * @description The most seconds between two attempts. Default: 900.
             */
            max_backoff?: number | null;
            /**
             * Format: int64
             * @description Maximum size of all payloads together in bytes, with their content types and parameters, dead letters included. Default: 67108864.
             */
            max_bytes?: number | null;
            /**
             * Format: int64
             * @description Maximum number of jobs, dead letters included. Default: 1000000.
             */
            max_jobs?: number | null;
            /**
             * Format: int64
             * @description Seconds until the second attempt. Each further attempt doubles them. Default: 5.
             */
            min_backoff?: number | null;
            /** @description Whether jobs are accepted but none is started. */
            paused?: boolean | null;
            /**
             * @description Who enqueues jobs beside clients of the API: `active` sessions, or all `visitors` with a valid ticket. `api` is nobody else. Default: "api".
             * @enum {string|null}
             */
            producers?: "api" | "active" | "visitors" | null;
            /**
             * Format: int64
             * @description Seconds for which the result of a completed job is kept. For the target `origin` at least `deduplication_interval`. Default: 3600.
             */
            result_ttl?: number | null;
            /**
             * Format: int64
             * @description Seconds after which a job that is not finished becomes a dead letter. For the target `origin` the default is 900. Default: 345600.
             */
            retention?: number | null;
            /**
             * @description Which held orders are sent again: `safe`, those that the origin has certainly not processed; `always`, also those that it may have processed, for origins that honor `Idempotency-Key`. For the target `origin` only. Default: "safe".
             * @enum {string|null}
             */
            retry?: "safe" | "always" | null;
            /** @description Jobs that are enqueued at fixed times. */
            schedules?: components["schemas"]["JobSchedule"][] | null;
            /** @description Where jobs go. */
            target: components["schemas"]["JobTarget"];
            /** @description ID of the tenant. */
            tenant: string;
            /**
             * Format: int64
             * @description Seconds after which a call of the handler has failed. For the target `origin` the default is 60. Default: 300.
             */
            timeout?: number | null;
            /** @description Events of the tenant that are delivered as jobs. For the target `http` only. */
            webhook?: components["schemas"]["JobWebhook"];
        };
        /** @description A list of job queues. */
        JobQueueList: {
            /** @description The job queues by ID. */
            job_queues: components["schemas"]["JobQueueView"][];
        };
        /** @description The settings of a job queue. Times are in seconds. */
        JobQueuePatch: {
            /** @description Content types that visitors can enqueue. The API takes every type. */
            accepts?: string[] | null;
            /**
             * Format: int64
             * @description Maximum number of jobs that run at a time. Default: 10.
             */
            concurrency?: number | null;
            /**
             * Format: int64
             * @description Seconds for which dead letters are kept. Default: 1209600.
             */
            dead_letter_retention?: number | null;
            /**
             * Format: int64
             * @description Seconds after acceptance during which an equal job of a FIFO job queue is a duplicate. Default: 300.
             */
            deduplication_interval?: number | null;
            /**
             * Format: int64
             * @description Maximum number of jobs that start per minute; no limit if it is absent.
             */
            dispatches_per_minute?: number | null;
            /**
             * Format: int64
             * @description Maximum number of jobs that a session enqueues per minute. Default: 10.
             */
            enqueues_per_minute?: number | null;
            /**
             * Format: int64
             * @description Failed attempts after which a job becomes a dead letter. Default: 8.
             */
            max_attempts?: number | null;
            /**
             * Format: int64
             * @description The most seconds between two attempts. Default: 900.
             */
            max_backoff?: number | null;
            /**
             * Format: int64
             * @description Maximum size of all payloads together in bytes, with their content types and parameters, dead letters included. Default: 67108864.
             */
            max_bytes?: number | null;
            /**
             * Format: int64
             * @description Maximum number of jobs, dead letters included. Default: 1000000.
             */
            max_jobs?: number | null;
            /**
             * Format: int64
             * @description Seconds until the second attempt. Each further attempt doubles them. Default: 5.
             */
            min_backoff?: number | null;
            /** @description Whether jobs are accepted but none is started. */
            paused?: boolean | null;
            /**
             * @description Who enqueues jobs beside clients of the API: `active` sessions, or all `visitors` with a valid ticket. `api` is nobody else. Default: "api".
             * @enum {string|null}
             */
            producers?: "api" | "active" | "visitors" | null;
            /**
             * Format: int64
             * @description Seconds for which the result of a completed job is kept. For the target `origin` at least `deduplication_interval`. Default: 3600.
             */
            result_ttl?: number | null;
            /**
             * Format: int64
             * @description Seconds after which a job that is not finished becomes a dead letter. For the target `origin` the default is 900. Default: 345600.
             */
            retention?: number | null;
            /**
             * @description Which held orders are sent again: `safe`, those that the origin has certainly not processed; `always`, also those that it may have processed, for origins that honor `Idempotency-Key`. For the target `origin` only. Default: "safe".
             * @enum {string|null}
             */
            retry?: "safe" | "always" | null;
            /** @description Jobs that are enqueued at fixed times. */
            schedules?: components["schemas"]["JobSchedule"][] | null;
            /** @description Where jobs go. */
            target?: components["schemas"]["JobTarget"];
            /**
             * Format: int64
             * @description Seconds after which a call of the handler has failed. For the target `origin` the default is 60. Default: 300.
             */
            timeout?: number | null;
            /** @description Events of the tenant that are delivered as jobs. For the target `http` only. */
            webhook?: components["schemas"]["JobWebhook"];
        };
        /** @description The secret that signs calls of handlers. */
        JobQueueSecret: {
            /**
             * Format: int64
             * @description Until when the secret before the last rotation signs, too, in seconds since 1970; `null` if it does not.
             */
            previous_until?: number | null;
            /** @description `whsec_` and the key in base64, as the libraries of Standard Webhooks take it. */
            secret: string;
        };
        /** @description The settings of a job queue. Times are in seconds. */
        JobQueueSettingsView: {
            /** @description Content types that visitors can enqueue. The API takes every type. */
            accepts: string[];
            /**
             * Format: int64
             * @description Maximum number of jobs that run at a time.
             */
            concurrency: number;
            /**
             * Format: int64
             * @description Seconds for which dead letters are kept.
             */
            dead_letter_retention: number;
            /**
             * Format: int64
             * @description Seconds after acceptance during which an equal job of a FIFO job queue is a duplicate.
             */
            deduplication_interval: number;
            /**
             * Format: int64
             * @description Maximum number of jobs that start per minute; no limit if it is absent.
             */
            dispatches_per_minute?: number;
            /**
             * Format: int64
             * @description Maximum number of jobs that a session enqueues per minute.
             */
            enqueues_per_minute: number;
            /** @description ID of the job queue. A FIFO job queue ends with `.fifo`. */
            id: string;
            /**
             * Format: int64
             * @description Failed attempts after which a job becomes a dead letter.
             */
            max_attempts: number;
            /**
             * Format: int64
             * @description The most seconds between two attempts.
             */
            max_backoff: number;
            /**
             * Format: int64
             * @description Maximum size of all payloads together in bytes, with their content types and parameters, dead letters included.
             */
            max_bytes: number;
            /**
             * Format: int64
             * @description Maximum number of jobs, dead letters included.
             */
            max_jobs: number;
            /**
             * Format: int64
             * @description Seconds until the second attempt. Each further attempt doubles them.
             */
            min_backoff: number;
            /** @description Whether jobs are accepted but none is started. */
            paused: boolean;
            /**
             * @description Who enqueues jobs beside clients of the API: `active` sessions, or all `visitors` with a valid ticket. `api` is nobody else.
             * @enum {string}
             */
            producers: "api" | "active" | "visitors";
            /**
             * Format: int64
             * @description Seconds for which the result of a completed job is kept. For the target `origin` at least `deduplication_interval`.
             */
            result_ttl: number;
            /**
             * Format: int64
             * @description Seconds after which a job that is not finished becomes a dead letter. For the target `origin` the default is 900.
             */
            retention: number;
            /**
             * @description Which held orders are sent again: `safe`, those that the origin has certainly not processed; `always`, also those that it may have processed, for origins that honor `Idempotency-Key`. For the target `origin` only.
             * @enum {string}
             */
            retry: "safe" | "always";
            /** @description Jobs that are enqueued at fixed times. */
            schedules: components["schemas"]["JobSchedule"][];
            /** @description Where jobs go. */
            target: components["schemas"]["JobTarget"];
            /** @description ID of the tenant. */
            tenant: string;
            /**
             * Format: int64
             * @description Seconds after which a call of the handler has failed. For the target `origin` the default is 60.
             */
            timeout: number;
            /** @description Events of the tenant that are delivered as jobs. For the target `http` only. */
            webhook?: components["schemas"]["JobWebhook"];
        };
        /** @description The statistics of a job queue. */
        JobQueueStats: {
            /**
             * Format: int64
             * @description Completed jobs.
             */
            acknowledged: number;
            blocked_group?: components["schemas"]["BlockedGroupView"] | null;
            /**
             * Format: int64
             * @description Size of all payloads together in bytes, with their content types and parameters.
             */
            bytes: number;
            /**
             * Format: int64
             * @description Waiting jobs that were deleted.
             */
            canceled: number;
            /**
             * Format: int64
             * @description Dead letters.
             */
            dead: number;
            /**
             * Format: int64
             * @description Jobs that became dead letters. Held orders whose outcome became unknown are not among them.
             */
            dead_lettered: number;
            /**
             * Format: int64
             * @description Jobs that equaled an earlier one.
             */
            duplicate: number;
            /**
             * Format: int64
             * @description Jobs accepted since the job queue was created.
             */
            enqueued: number;
            /**
             * Format: int64
             * @description Failed attempts.
             */
            failed: number;
            /**
             * Format: int64
             * @description Jobs and dead letters that the job backend has lost.
             */
            lost: number;
            /**
             * Format: int64
             * @description Seconds since the oldest job that is not finished was accepted; `null` if there is none.
             */
            oldest_age?: number | null;
            /**
             * Format: int64
             * @description Until when a handler's `Retry-After` pauses the job queue, in seconds since 1970; `null` if it does not.
             */
            paused_until?: number | null;
            /**
             * Format: int64
             * @description Of the waiting jobs, those that can start now. The others wait for a time, for a retry, or for the first job of their group.
             */
            ready: number;
            /**
             * Format: int64
             * @description Refused settlements and extensions of old leases.
             */
            refused: number;
            /**
             * Format: int64
             * @description Dead letters that were put back.
             */
            replayed: number;
            /**
             * Format: int64
             * @description Jobs that were returned without an attempt.
             */
            requeued: number;
            /**
             * Format: int64
             * @description Jobs that run.
             */
            running: number;
            /**
             * Format: int64
             * @description Held orders whose outcome became unknown.
             */
            unknown: number;
            /**
             * Format: int64
             * @description Held orders whose outcome is unknown now, and of which no operator has recorded it.
             */
            unresolved: number;
            /**
             * Format: int64
             * @description Jobs that wait, for their turn or for a retry.
             */
            waiting: number;
        };
        /** @description A job queue. */
        JobQueueView: {
            /**
             * Format: int64
             * @description Revision of the settings.
             */
            revision: number;
            /** @description The settings, without the signing secret. */
            settings: components["schemas"]["JobQueueSettingsView"];
            stats?: components["schemas"]["JobQueueStats"] | null;
        };
        /** @description What became of one job of several. */
        JobResult: components["schemas"]["EnqueuedJob"] | {
            /** @description `job_queue_full`, `enqueue_unconfirmed`, or another code of a single job. */
            code: string;
            /** @description What happened, in English. */
            detail: string;
        };
        /** @description What became of several jobs. */
        JobResults: {
            /** @description One result for each job, in their order. */
            jobs: components["schemas"]["JobResult"][];
        };
        /** @description A job that is enqueued at fixed times. */
        JobSchedule: {
            /** @description Content type of the payload. Default: "application/json". */
            content_type?: string;
            /** @description When the job is enqueued: minute, hour, day of the month, month and day of the week, such as `30 4 * * 1-5`, or `@hourly`, `@daily`, `@weekly`, `@monthly` or `@yearly`. `L` is the last day of a month. Times that a change of clocks skips are made up for right after it, and times that occur twice count once. */
            cron: string;
            /** @description Group of the jobs. A FIFO job queue needs it, others have none. */
            group_id?: string;
            /** @description ID of the schedule, unique in the job queue. */
            id: string;
            /** @description Payload of the jobs. */
            payload: string;
            /** @description Time zone of `cron`, such as `Europe/Berlin`. Default: "UTC". */
            time_zone?: string;
        };
        /** @description Where jobs go. */
        JobTarget: {
            /**
             * @description `http`: a handler is called. `pull`: consumers receive the jobs over the API. `origin`: held orders are sent to the origin of their queue.
             * @enum {string}
             */
            kind: "http" | "pull" | "origin";
            /** @description Secret that signs calls, as Standard Webhooks says; for `http` only. Generated if it is absent. */
            secret?: string;
            /** @description Address of the handler; its origin must be one of the tenant's. Required for `http`, and only for it. */
            url?: string;
        };
        /** @description The events that a job queue delivers as jobs. */
        JobWebhook: {
            /** @description Types of the events. */
            event_types: ("queue.updated" | "queue.reset" | "queue.state_changed" | "queue.admitted" | "queue.attention" | "job.dead_lettered" | "order.outcome_unknown")[];
            /** @description IDs of the queues whose events are delivered, or `*` for all queues of the tenant. Events of jobs do not depend on it. */
            queues?: string[];
        };
        /** @description Jobs to enqueue. */
        JobsDraft: {
            /** @description The jobs, in order. */
            jobs: components["schemas"]["JobDraft"][];
        };
        /** @description Joins in both windows. */
        JoinCounts: {
            /**
             * @description Joins by the number of joins of their address: element `i` has those that were the 2^i-th to below the 2^(i+1)-th, the last one all
             *     further ones. Joins of a shared network count as a part, those of a trusted one as the first. Joins without a usable address
             *     are left out.
             */
            by_address: number[];
            /** @description The same by the number of joins of their network. */
            by_network: number[];
            /**
             * Format: double
             * @description Joins per second in the last ten seconds.
             */
            per_second: number;
        };
        /** @description What became of one job. */
        LeaseResult: {
            /** @description The receipt handle. */
            receipt_handle: string;
            /** @description State of the job: `running` after an extension, `completed`, `retrying`, `queued`, or `failed` for a dead letter. */
            state: string;
        } | {
            /** @description Always `lease_ended`. */
            code: string;
            /** @description What happened, in English. */
            detail: string;
            /** @description The receipt handle. */
            receipt_handle: string;
        };
        /** @description What became of jobs. */
        LeaseResults: {
            /** @description One result for each receipt handle, in their order. */
            results: components["schemas"]["LeaseResult"][];
        };
        /** @description A text by its code and the values of its placeholders. */
        Message: {
            code: components["schemas"]["ErrorCode"];
            params: components["schemas"]["MessageParams"];
        };
        /** @description Values of placeholders: numbers, texts or other messages. */
        MessageParams: {
            [key: string]: number | string | components["schemas"]["Message"];
        };
        /** @description A cookie that a request must have with exactly this value. */
        NamedValue: {
            /** @description Name of the cookie (case-sensitive). */
            name: string;
            /** @description The required value. */
            value: string;
        };
        /** @description A network and its joins. */
        NetworkEntry: {
            /**
             * Format: int64
             * @description Its joins in both windows.
             */
            joins: number;
            /** @description The class that the setting `networks` gives it: `trusted`, `shared`, `suspicious` or `blocked`; `null` if none. */
            list?: string | null;
            /** @description The network. */
            prefix: string;
        };
        /** @description Lists of networks by class. A list is a file at the place of `VESTIBULE_NETWORKS`. If a network is in several classes, the first of `trusted`, `blocked`, `suspicious` and `shared` applies. */
        NetworkLists: {
            /** @description Lists of networks from which nobody joins. */
            blocked?: string[];
            /** @description Lists of networks with many visitors behind few addresses: 16 joins count as one. */
            shared?: string[];
            /** @description Lists of networks that are unlikely to be those of visitors. */
            suspicious?: string[];
            /** @description Lists of known visitors: no limit by address or network. */
            trusted?: string[];
        };
        /** @description Single sign-on. */
        OidcMethod: {
            /** @description Label of the button. */
            name: string;
            /** @description URL to open in the browser. */
            start: string;
        };
        /** @description A new operator. */
        OperatorDraft: {
            /** @description The name to sign in with. */
            name: string;
            /**
             * Format: password
             * @description The password. Without one the operator uses single sign-on, which must be configured.
             */
            password?: string | null;
            /**
             * @description The role.
             * @enum {string}
             */
            role: "viewer" | "operator" | "superuser";
            /** @description The accessible tenants; empty for a superuser. */
            tenants?: string[] | null;
        };
        /** @description Changes to an operator. Absent fields stay unchanged. */
        OperatorPatch: {
            /**
             * Format: password
             * @description A new password; ends all their sign-ins.
             */
            password?: string | null;
            /**
             * @description The role.
             * @enum {string|null}
             */
            role?: "viewer" | "operator" | "superuser" | null;
            /** @description The accessible tenants. */
            tenants?: string[] | null;
        };
        /** @description An operator, without the password. */
        OperatorView: {
            /**
             * Format: int64
             * @description Creation time in seconds since 1970.
             */
            created_at: number;
            /** @description Name of the operator. */
            name: string;
            /**
             * Format: int64
             * @description When the password was set, in seconds since 1970; `null` without a password, for single
             *     sign-on.
             */
            password_at?: number | null;
            /** @description The role. */
            role: components["schemas"]["Role"];
            /** @description The accessible tenants; empty for a superuser, who has all. */
            tenants: string[];
            /**
             * Format: int64
             * @description When TOTP was set up, in seconds since 1970; `null` without TOTP.
             */
            totp_at?: number | null;
        };
        /** @description All operators. */
        Operators: {
            /** @description The operators by name. */
            operators: components["schemas"]["OperatorView"][];
        };
        /** @description What became of a held order whose outcome is unknown. */
        OrderResolution: {
            /**
             * @description `placed`: the shop has processed the order. `not_placed`: it has not, and the visitor can submit it again.
             * @enum {string}
             */
            outcome: "placed" | "not_placed";
        };
        /**
         * @description The result for a request.
         * @enum {string}
         */
        Outcome: "queue" | "bypass" | "pass" | "rejected" | "unknown_host" | "foreign";
        /** @description Joins above a limit. */
        OverLimitCounts: {
            /**
             * Format: int64
             * @description Above `per_address`.
             */
            address: number;
            /**
             * Format: int64
             * @description Above `per_network`.
             */
            network: number;
        };
        /** @description A password change. */
        PasswordChange: {
            /**
             * Format: password
             * @description The current password.
             */
            current: string;
            /**
             * Format: password
             * @description The new password.
             */
            new: string;
        };
        /** @description The password of the signed-in operator. */
        PasswordConfirmation: {
            /**
             * Format: password
             * @description The password.
             */
            password: string;
        };
        /** @description The plan of an import. */
        Plan: {
            /** @description New and changed job queues. */
            job_queues?: components["schemas"]["PlannedChange"][];
            /** @description Queues that the document does not contain and that stay. */
            kept: string[];
            /** @description What happens to visitors of a lobby. */
            lobbies?: components["schemas"]["PlannedLobby"][];
            /** @description New and changed queues. */
            queues: components["schemas"]["PlannedChange"][];
            /** @description Queues that are removed because the document does not contain them. */
            removed: string[];
            /** @description Job queues that are removed because the document does not contain them, unless they have jobs or dead letters. */
            removed_job_queues?: string[];
            /** @description New and changed tenants. */
            tenants: components["schemas"]["PlannedChange"][];
        };
        /** @description A planned change. */
        PlannedChange: {
            /** @description Changed fields with old and new values. */
            changes: components["schemas"]["FieldChange"][];
            /** @description Whether it is created. */
            created: boolean;
            /** @description The ID. */
            id: string;
            /** @description Whether the stored settings cannot be read. They are replaced. */
            replaces_unreadable?: boolean;
        };
        /** @description A lobby that a plan affects: its event is removed or suspended, or loses its beacon. */
        PlannedLobby: {
            /** @description What happens, in English. */
            consequence: string;
            /** @description The ID of the event. */
            event: string;
            /** @description The ID of the queue. */
            queue: string;
        };
        /** @description Pre-tickets in both windows. */
        PreTicketCounts: {
            /**
             * Format: int64
             * @description Pre-tickets issued to first visits.
             */
            issued: number;
            /**
             * Format: int64
             * @description Sessions that joined by a pre-ticket.
             */
            redeemed: number;
            /**
             * Format: double
             * @description Share of first visits that did not come back: automated clients, and visitors who closed the page. `null` if none was issued.
             */
            share_not_redeemed?: number | null;
        };
        /** @description One page. */
        PreviewPage: {
            /** @description The HTML. It is untrusted: show it only in a sandbox without scripts. */
            html: string;
            /** @description The visitor state. */
            state: string;
        };
        /**
         * @description State of a session before it ended.
         * @enum {string}
         */
        PreviousState: "waiting" | "active" | "absent";
        /** @description The body of every error response: problem details (RFC 9457). */
        ProblemDetails: {
            code: components["schemas"]["ErrorCode"];
            /** @description What to confirm, for the code `confirmation_required`. */
            confirmation?: components["schemas"]["Confirmation"];
            /** @description The current settings of a queue, for the code `revision_conflict`. */
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
        /** @description Proofs of work. */
        ProofCounts: {
            /**
             * Format: int64
             * @description Newcomers who had to prove work, or more of it, before they join.
             */
            challenged: number;
            /**
             * Format: int64
             * @description Joins without a proof, after a waiting time.
             */
            delayed_joins: number;
            /**
             * Format: int64
             * @description Proofs that were not accepted.
             */
            invalid: number;
            /**
             * Format: int64
             * @description Proofs that were accepted.
             */
            valid: number;
        };
        /** @description Proof of work of newcomers. */
        ProofOfWork: {
            /**
             * Format: int64
             * @description Mean number of key derivations at difficulty 1. A phone computes 2,500 in one second or so. Default: 2500.
             */
            effort?: number;
            /**
             * Format: int64
             * @description Joins per second from which the difficulty rises. Default: 50.
             */
            from?: number;
            /**
             * @description When newcomers prove work before they join: `off` (never), `auto` (when many join from one address, one network, or in the whole queue) or `always`. Default: "off".
             * @enum {string}
             */
            mode?: "off" | "auto" | "always";
        };
        /** @description Measures against automated clients. They are stored among the rules of the line. In a stored object a missing percentage means that no pre-ticket is required, since scripts cannot store `null`; if the whole object is missing, the default applies. */
        Protection: {
            /**
             * @description Counters per row: more for more joins. 131072 take 1 MiB and suffice for 300 joins per second. Default: 131072.
             * @enum {integer}
             */
            counters?: 131072 | 524288 | 1048576;
            /** @description How the account of a visitor is known; `null` if accounts don't matter. */
            identity?: components["schemas"]["Identity"];
            /** @description Joins of the queue per second; `"none"` for no limit. Default: "none". */
            joins_per_second?: number | "none" | null;
            /** @description Lists of networks by class. */
            lists?: components["schemas"]["NetworkLists"];
            /**
             * @description Whether joins are counted and limited: `off`, `monitor` (counted and reported only) or `enforce`. Default: "monitor".
             * @enum {string}
             */
            mode?: "off" | "monitor" | "enforce";
            /** @description Single networks by class. */
            networks?: {
                [key: string]: "trusted" | "shared" | "suspicious" | "blocked";
            };
            /**
             * @description What happens to joins above `per_address` or `per_network`: `challenge` or `reject`. Default: "challenge".
             * @enum {string}
             */
            on_exceed?: "challenge" | "reject";
            /** @description Joins of one address (IPv4 /32, IPv6 /64) in ten minutes; `"none"` for no limit. Default: 20. */
            per_address?: number | "none" | null;
            /** @description Joins of one network (IPv4 /24, IPv6 /48) in ten minutes; `"none"` for no limit. Default: 400. */
            per_network?: number | "none" | null;
            /** @description Percentage of the quota in use from which newcomers need a pre-ticket to join; `"none"` if they never do. Default: 50. */
            pre_ticket_from?: number | "none" | null;
            /**
             * Format: int64
             * @description Seconds for which the first visit counts as the arrival of a session that joins by its pre-ticket. Default: 30.
             */
            pre_ticket_max_age?: number;
            /** @description Work that newcomers prove before they join. */
            proof_of_work?: components["schemas"]["ProofOfWork"];
            /** @description Whether operators see the largest networks. Without, the store keeps no network in the clear. */
            show_networks?: boolean;
        };
        /** @description A QR code, to be drawn dark on light with a margin of four modules. */
        QrCodeImage: {
            /** @description The dark modules as an SVG path in units of one module. */
            path: string;
            /** @description Modules on each side. */
            size: number;
        };
        /** @description The settings of a queue. Times are in seconds. */
        QueueClone: {
            /**
             * @description Who can join: `anyone` (the default) or `invited`, visitors with an invitation code.
             * @enum {string|null}
             */
            access?: "anyone" | "invited" | null;
            /**
             * Format: int64
             * @description Seconds after a visit until an active session expires. Default: 600.
             */
            active_ttl?: number | null;
            /**
             * Format: int64
             * @description Seconds between steps: visitors are admitted at whole multiples of it since 1970, as many as `admissions_per_minute` allows for that time. `null` for evenly.
             */
            admissions_every?: number | null;
            /**
             * Format: int64
             * @description Maximum admissions per minute; `null` for no limit.
             */
            admissions_per_minute?: number | null;
            /**
             * @description What a scheduled queue does while no event takes place: `bypass` (the default) or `closed`.
             * @enum {string|null}
             */
            between_events?: "bypass" | "closed" | null;
            /**
             * Format: int64
             * @description Seconds for which an admission is held for an absent visitor, and for which an unconfirmed session keeps its position. Default: 30.
             */
            claim_ttl?: number | null;
            /** @description Domain of the cookies; `null` for the exact host. */
            cookie_domain?: string | null;
            /**
             * Format: int64
             * @description The current epoch; tickets of another epoch are invalid. Default: 1.
             */
            epoch?: number | null;
            /** @description The events that a scheduled queue follows, sorted by start. */
            events?: components["schemas"]["Event"][] | null;
            /** @description How admitted visitors reach the site. */
            handover?: components["schemas"]["Handover"];
            /**
             * Format: int64
             * @description Seconds after the last visit for which a ticket restores its position. Default: 600.
             */
            hold_ttl?: number | null;
            /** @description Hosts of the queue, such as `tickets.example.com`, `*.example.com` or `*`. */
            hosts?: string[];
            /** @description ID of the queue. */
            id?: string;
            /** @description The batches of invitation codes. */
            invitations?: components["schemas"]["InvitationBatch"][] | null;
            /**
             * Format: int64
             * @description Maximum length of an active session in seconds; `null` for no limit.
             */
            max_session?: number | null;
            /**
             * Format: int64
             * @description Maximum number of waiting visitors; `null` for no limit. Newcomers beyond it do not join.
             */
            max_waiting?: number | null;
            /** @description Plain text shown on the queue's pages to visitors who wait: `default`, and language tags such as `de` for other languages. `null` for none. */
            message?: ({
                default: string;
            } & {
                [key: string]: string;
            }) | null;
            /**
             * @description Mode of the queue. Default: "open".
             * @enum {string|null}
             */
            mode?: "open" | "bypass" | "paused" | "closed" | "draining" | "scheduled" | null;
            /** @description Name shown to visitors, by default the ID: the event, the sale or the shop. `{host}` stands for the requested host. */
            name?: string | null;
            /** @description Measures against automated clients. */
            protection?: components["schemas"]["Protection"];
            /**
             * @description HTTP status of the queue page. Default: 200.
             * @enum {integer|null}
             */
            queue_status?: 200 | 202 | 429 | 503 | null;
            /**
             * Format: int64
             * @description Maximum number of active visitors.
             */
            quota?: number;
            /**
             * Format: int64
             * @description Seconds for which the gate accepts an admitted ticket without asking the store. Default: 2.
             */
            recheck_after?: number | null;
            /**
             * Format: int64
             * @description Revision of the settings; each change increments it. Default: 1.
             */
            revision?: number | null;
            /** @description Which requests are queued; the first rule whose conditions all match decides. */
            rules?: components["schemas"]["Rule"][] | null;
            /**
             * @description Behavior while the store is unavailable. Default: "tickets".
             * @enum {string|null}
             */
            store_failure?: "tickets" | "open" | "closed" | null;
            /** @description ID of the tenant. */
            tenant?: string;
            /** @description ID of the theme; `null` for `default`. */
            theme?: string | null;
            /**
             * Format: int64
             * @description Seconds after a visit until a waiting session expires; more if it has long to wait. Default: 60.
             */
            waiting_ttl?: number | null;
        };
        /** @description The settings of a queue. Times are in seconds. */
        QueueDraft: {
            /**
             * @description Who can join: `anyone` (the default) or `invited`, visitors with an invitation code.
             * @enum {string|null}
             */
            access?: "anyone" | "invited" | null;
            /**
             * Format: int64
             * @description Seconds after a visit until an active session expires. Default: 600.
             */
            active_ttl?: number | null;
            /**
             * Format: int64
             * @description Seconds between steps: visitors are admitted at whole multiples of it since 1970, as many as `admissions_per_minute` allows for that time. `null` for evenly.
             */
            admissions_every?: number | null;
            /**
             * Format: int64
             * @description Maximum admissions per minute; `null` for no limit.
             */
            admissions_per_minute?: number | null;
            /**
             * @description What a scheduled queue does while no event takes place: `bypass` (the default) or `closed`.
             * @enum {string|null}
             */
            between_events?: "bypass" | "closed" | null;
            /**
             * Format: int64
             * @description Seconds for which an admission is held for an absent visitor, and for which an unconfirmed session keeps its position. Default: 30.
             */
            claim_ttl?: number | null;
            /** @description Domain of the cookies; `null` for the exact host. */
            cookie_domain?: string | null;
            /**
             * Format: int64
             * @description The current epoch; tickets of another epoch are invalid. Default: 1.
             */
            epoch?: number | null;
            /** @description The events that a scheduled queue follows, sorted by start. */
            events?: components["schemas"]["Event"][] | null;
            /** @description How admitted visitors reach the site. */
            handover: components["schemas"]["Handover"];
            /**
             * Format: int64
             * @description Seconds after the last visit for which a ticket restores its position. Default: 600.
             */
            hold_ttl?: number | null;
            /** @description Hosts of the queue, such as `tickets.example.com`, `*.example.com` or `*`. */
            hosts: string[];
            /** @description ID of the queue. */
            id: string;
            /** @description The batches of invitation codes. */
            invitations?: components["schemas"]["InvitationBatch"][] | null;
            /**
             * Format: int64
             * @description Maximum length of an active session in seconds; `null` for no limit.
             */
            max_session?: number | null;
            /**
             * Format: int64
             * @description Maximum number of waiting visitors; `null` for no limit. Newcomers beyond it do not join.
             */
            max_waiting?: number | null;
            /** @description Plain text shown on the queue's pages to visitors who wait: `default`, and language tags such as `de` for other languages. `null` for none. */
            message?: ({
                default: string;
            } & {
                [key: string]: string;
            }) | null;
            /**
             * @description Mode of the queue. Default: "open".
             * @enum {string|null}
             */
            mode?: "open" | "bypass" | "paused" | "closed" | "draining" | "scheduled" | null;
            /** @description Name shown to visitors, by default the ID: the event, the sale or the shop. `{host}` stands for the requested host. */
            name?: string | null;
            /** @description Measures against automated clients. */
            protection?: components["schemas"]["Protection"];
            /**
             * @description HTTP status of the queue page. Default: 200.
             * @enum {integer|null}
             */
            queue_status?: 200 | 202 | 429 | 503 | null;
            /**
             * Format: int64
             * @description Maximum number of active visitors.
             */
            quota: number;
            /**
             * Format: int64
             * @description Seconds for which the gate accepts an admitted ticket without asking the store. Default: 2.
             */
            recheck_after?: number | null;
            /**
             * Format: int64
             * @description Revision of the settings; each change increments it. Default: 1.
             */
            revision?: number | null;
            /** @description Which requests are queued; the first rule whose conditions all match decides. */
            rules?: components["schemas"]["Rule"][] | null;
            /**
             * @description Behavior while the store is unavailable. Default: "tickets".
             * @enum {string|null}
             */
            store_failure?: "tickets" | "open" | "closed" | null;
            /** @description ID of the tenant. */
            tenant: string;
            /** @description ID of the theme; `null` for `default`. */
            theme?: string | null;
            /**
             * Format: int64
             * @description Seconds after a visit until a waiting session expires; more if it has long to wait. Default: 60.
             */
            waiting_ttl?: number | null;
        };
        /** @description What a queue would do with another quota. */
        QueueForecast: {
            /**
             * Format: int64
             * @description How many of them would be admitted at once.
             */
            admitted_now: number;
            /**
             * Format: int64
             * @description Time of the forecast in seconds since 1970, by the clock of the store.
             */
            at: number;
            /**
             * Format: int64
             * @description When admissions begin, in seconds since 1970, if the event of a scheduled queue has not begun them; otherwise `null`.
             */
            begins_at?: number | null;
            last_wait_seconds?: components["schemas"]["Wait"] | null;
            line_ends_at?: components["schemas"]["Wait"] | null;
            /**
             * Format: int64
             * @description The quota of the forecast.
             */
            quota: number;
            /**
             * Format: int64
             * @description Visitors who wait now, and in the lobby of a draw those with a lobby ticket.
             */
            waiting: number;
        };
        /** @description History of a queue. */
        QueueHistory: {
            /**
             * @description Columns of a sample: `at` in seconds since 1970, `waiting` and `active` visitors at that time, the
             *     `quota`, and since the previous sample the visitors who `joined` and were `admitted`, the `pre_tickets` issued to first
             *     visits, the `rejected` joins, and the newcomers who were `challenged` to prove work.
             */
            columns: string[];
            /** @description The samples, oldest first, one for each step. `null` is unknown: in a step with nothing but `at` nothing was recorded. */
            points: (number | null)[][];
            /**
             * Format: int64
             * @description Seconds between two samples.
             */
            step_seconds: number;
        };
        /** @description A page of queues. */
        QueuePage: {
            /** @description Start of the next page as `after`; `null` at the end. */
            next?: string | null;
            /** @description The queues by id. */
            queues: components["schemas"]["QueueSettings"][];
        };
        /** @description The settings of a queue. Times are in seconds. */
        QueuePatch: {
            /**
             * @description Who can join: `anyone` (the default) or `invited`, visitors with an invitation code.
             * @enum {string|null}
             */
            access?: "anyone" | "invited" | null;
            /**
             * Format: int64
             * @description Seconds after a visit until an active session expires. Default: 600.
             */
            active_ttl?: number | null;
            /**
             * Format: int64
             * @description Seconds between steps: visitors are admitted at whole multiples of it since 1970, as many as `admissions_per_minute` allows for that time. `null` for evenly.
             */
            admissions_every?: number | null;
            /**
             * Format: int64
             * @description Maximum admissions per minute; `null` for no limit.
             */
            admissions_per_minute?: number | null;
            /**
             * @description What a scheduled queue does while no event takes place: `bypass` (the default) or `closed`.
             * @enum {string|null}
             */
            between_events?: "bypass" | "closed" | null;
            /**
             * Format: int64
             * @description Seconds for which an admission is held for an absent visitor, and for which an unconfirmed session keeps its position. Default: 30.
             */
            claim_ttl?: number | null;
            /** @description Domain of the cookies; `null` for the exact host. */
            cookie_domain?: string | null;
            /** @description The events that a scheduled queue follows, sorted by start. */
            events?: components["schemas"]["Event"][] | null;
            /** @description How admitted visitors reach the site. */
            handover?: components["schemas"]["Handover"];
            /**
             * Format: int64
             * @description Seconds after the last visit for which a ticket restores its position. Default: 600.
             */
            hold_ttl?: number | null;
            /** @description Hosts of the queue, such as `tickets.example.com`, `*.example.com` or `*`. */
            hosts?: string[];
            /** @description The batches of invitation codes. */
            invitations?: components["schemas"]["InvitationBatch"][] | null;
            /**
             * Format: int64
             * @description Maximum length of an active session in seconds; `null` for no limit.
             */
            max_session?: number | null;
            /**
             * Format: int64
             * @description Maximum number of waiting visitors; `null` for no limit. Newcomers beyond it do not join.
             */
            max_waiting?: number | null;
            /** @description Plain text shown on the queue's pages to visitors who wait: `default`, and language tags such as `de` for other languages. `null` for none. */
            message?: ({
                default: string;
            } & {
                [key: string]: string;
            }) | null;
            /**
             * @description Mode of the queue. Default: "open".
             * @enum {string|null}
             */
            mode?: "open" | "bypass" | "paused" | "closed" | "draining" | "scheduled" | null;
            /** @description Name shown to visitors, by default the ID: the event, the sale or the shop. `{host}` stands for the requested host. */
            name?: string | null;
            /** @description Measures against automated clients. */
            protection?: components["schemas"]["Protection"];
            /**
             * @description HTTP status of the queue page. Default: 200.
             * @enum {integer|null}
             */
            queue_status?: 200 | 202 | 429 | 503 | null;
            /**
             * Format: int64
             * @description Maximum number of active visitors.
             */
            quota?: number;
            /**
             * Format: int64
             * @description Seconds for which the gate accepts an admitted ticket without asking the store. Default: 2.
             */
            recheck_after?: number | null;
            /** @description Which requests are queued; the first rule whose conditions all match decides. */
            rules?: components["schemas"]["Rule"][] | null;
            /**
             * @description Behavior while the store is unavailable. Default: "tickets".
             * @enum {string|null}
             */
            store_failure?: "tickets" | "open" | "closed" | null;
            /** @description ID of the theme; `null` for `default`. */
            theme?: string | null;
            /**
             * Format: int64
             * @description Seconds after a visit until a waiting session expires; more if it has long to wait. Default: 60.
             */
            waiting_ttl?: number | null;
        };
        /** @description What is known about joins and pre-tickets, in the current window of 300 seconds and the one before together. */
        QueueProtection: {
            /**
             * Format: int64
             * @description When attack mode ends, in seconds since 1970; `null` if it is off.
             */
            attack_mode_until?: number | null;
            /** @description Whether client addresses are reliable: `ok`, `unusable` or `extra_proxy`. */
            client_address: string;
            /**
             * Format: int64
             * @description Difficulty of the proof of work for the first join of a network now; 0 if none is required.
             */
            difficulty: number;
            /** @description Tokens of accounts. */
            identities: components["schemas"]["IdentityCounts"];
            /** @description Joins. */
            joins: components["schemas"]["JoinCounts"];
            /** @description The mode of limits in the settings: `off`, `monitor` or `enforce`. */
            mode: string;
            /** @description The largest networks, largest first; empty with `show_networks = false`. */
            networks: components["schemas"]["NetworkEntry"][];
            /**
             * Format: double
             * @description Share of joins without a usable address.
             */
            no_address_share: number;
            /** @description Joins above a limit, rejected or not. */
            over_limit: components["schemas"]["OverLimitCounts"];
            /** @description Whether newcomers need a pre-ticket now. */
            pre_ticket_required: boolean;
            /** @description Pre-tickets. */
            pre_tickets: components["schemas"]["PreTicketCounts"];
            /** @description Proofs of work. */
            proofs: components["schemas"]["ProofCounts"];
            /** @description ID of the queue. */
            queue: string;
            /** @description Rejected joins by reason. */
            rejected: components["schemas"]["RejectedCounts"];
            /**
             * Format: int64
             * @description Length of both windows until now, in seconds.
             */
            window_seconds: number;
            /**
             * Format: int64
             * @description Joins without the proof of work that they would need in mode `enforce`.
             */
            would_challenge: number;
        };
        /** @description What a queue counted in a time. */
        QueueReport: {
            /**
             * Format: int64
             * @description Visitors who left the line: their presence expired, or they closed the page. Some of them return.
             */
            abandoned: number;
            /**
             * Format: int64
             * @description Visitors who were admitted, by the rules or by a release.
             */
            admitted: number;
            /**
             * @description Whether everything since the lobby opened is counted. `false` if the store lost data in that time, if the
             *     queue was created or reset in it, or if visitors may have joined before the first counts were taken.
             */
            complete: boolean;
            /**
             * Format: int64
             * @description Visitors whose browser returned the ticket; programs without cookies never do.
             */
            confirmed: number;
            /**
             * Format: int64
             * @description Sessions that an operator or the maximum session duration ended.
             */
            ended: number;
            /** @description ID of the event; `null` for the report of a queue since its state began. */
            event?: string | null;
            /**
             * Format: int64
             * @description Active sessions that expired: visitors who did not come when it was their turn, and visitors who left the site.
             */
            expired: number;
            /** @description Start of the counted time, in RFC 3339. */
            from: string;
            /**
             * Format: int64
             * @description Visitors who joined the line.
             */
            joined: number;
            /**
             * Format: int64
             * @description Sessions that visitors or the site ended.
             */
            left: number;
            /**
             * Format: int64
             * @description Lobby tickets that were issued, after a loss of data the most that were counted; `null` for an event in order of arrival, and for a queue.
             */
            lobby_tickets?: number | null;
            /** @description ID of the queue. */
            queue: string;
            /**
             * Format: int64
             * @description Returns to the line or to a slot with a ticket.
             */
            returned: number;
            /** @description End of the counted time, in RFC 3339. */
            to: string;
            /** @description Waits of admitted visitors. */
            waits: components["schemas"]["WaitCount"][];
        };
        /** @description The settings of a queue. Times are in seconds. */
        QueueSettings: {
            /**
             * @description Who can join: `anyone` (the default) or `invited`, visitors with an invitation code.
             * @enum {string}
             */
            access?: "anyone" | "invited";
            /**
             * Format: int64
             * @description Seconds after a visit until an active session expires.
             */
            active_ttl: number;
            /**
             * Format: int64
             * @description Seconds between steps: visitors are admitted at whole multiples of it since 1970, as many as `admissions_per_minute` allows for that time. `null` for evenly.
             */
            admissions_every: number | null;
            /**
             * Format: int64
             * @description Maximum admissions per minute; `null` for no limit.
             */
            admissions_per_minute: number | null;
            /**
             * @description What a scheduled queue does while no event takes place: `bypass` (the default) or `closed`.
             * @enum {string}
             */
            between_events?: "bypass" | "closed";
            /**
             * Format: int64
             * @description Seconds for which an admission is held for an absent visitor, and for which an unconfirmed session keeps its position.
             */
            claim_ttl: number;
            /** @description Domain of the cookies; `null` for the exact host. */
            cookie_domain: string | null;
            /**
             * Format: int64
             * @description The current epoch; tickets of another epoch are invalid.
             */
            epoch: number;
            /** @description The events that a scheduled queue follows, sorted by start. */
            events?: components["schemas"]["Event"][];
            /** @description How admitted visitors reach the site. */
            handover: components["schemas"]["Handover"];
            /**
             * Format: int64
             * @description Seconds after the last visit for which a ticket restores its position.
             */
            hold_ttl: number;
            /** @description Hosts of the queue, such as `tickets.example.com`, `*.example.com` or `*`. */
            hosts: string[];
            /** @description ID of the queue. */
            id: string;
            /** @description The batches of invitation codes. */
            invitations?: components["schemas"]["InvitationBatch"][];
            /**
             * Format: int64
             * @description Maximum length of an active session in seconds; `null` for no limit.
             */
            max_session: number | null;
            /**
             * Format: int64
             * @description Maximum number of waiting visitors; `null` for no limit. Newcomers beyond it do not join.
             */
            max_waiting: number | null;
            /** @description Plain text shown on the queue's pages to visitors who wait: `default`, and language tags such as `de` for other languages. `null` for none. */
            message?: {
                default: string;
            } & {
                [key: string]: string;
            };
            /**
             * @description Mode of the queue.
             * @enum {string}
             */
            mode: "open" | "bypass" | "paused" | "closed" | "draining" | "scheduled";
            /** @description Name shown to visitors, by default the ID: the event, the sale or the shop. `{host}` stands for the requested host. */
            name: string;
            /** @description Measures against automated clients. */
            protection?: components["schemas"]["Protection"];
            /**
             * @description HTTP status of the queue page.
             * @enum {integer}
             */
            queue_status: 200 | 202 | 429 | 503;
            /**
             * Format: int64
             * @description Maximum number of active visitors.
             */
            quota: number;
            /**
             * Format: int64
             * @description Seconds for which the gate accepts an admitted ticket without asking the store.
             */
            recheck_after: number;
            /**
             * Format: int64
             * @description Revision of the settings; each change increments it.
             */
            revision: number;
            /** @description Which requests are queued; the first rule whose conditions all match decides. */
            rules: components["schemas"]["Rule"][];
            /**
             * @description Behavior while the store is unavailable.
             * @enum {string}
             */
            store_failure: "tickets" | "open" | "closed";
            /** @description ID of the tenant. */
            tenant: string;
            /** @description ID of the theme; `null` for `default`. */
            theme: string | null;
            /**
             * Format: int64
             * @description Seconds after a visit until a waiting session expires; more if it has long to wait.
             */
            waiting_ttl: number;
        };
        /** @description Current statistics of a queue. */
        QueueStats: {
            /**
             * Format: int64
             * @description Active visitors.
             */
            active: number;
            /**
             * Format: int64
             * @description Seconds between two steps of admissions; `null` for a continuous rate.
             */
            admissions_every?: number | null;
            /**
             * Format: double
             * @description Recent admissions per minute; `null` if unknown.
             */
            admitted_per_minute?: number | null;
            /**
             * Format: int64
             * @description Time of the statistics in seconds since 1970, by the clock of the store.
             */
            at: number;
            /**
             * Format: int64
             * @description When attack mode ends, in seconds since 1970; `null` if it is off.
             */
            attack_mode_until?: number | null;
            drained_in_seconds?: components["schemas"]["Wait"] | null;
            /** @description The mode that the line follows now: for a scheduled queue that of its phase, otherwise `mode`. */
            effective_mode: string;
            event?: components["schemas"]["EventStats"] | null;
            /**
             * Format: double
             * @description Recent arrivals per minute; `null` if unknown.
             */
            joined_per_minute?: number | null;
            /** @description The mode. */
            mode: string;
            /** @description Its name. */
            name: string;
            /**
             * Format: int64
             * @description Longest wait in seconds; `null` if the line is empty.
             */
            oldest_wait_seconds?: number | null;
            /** @description The queue. */
            queue: string;
            /**
             * Format: int64
             * @description Maximum number of active visitors.
             */
            quota: number;
            /** @description Whether the queue recovers lost state from tickets and admits nobody new. */
            recovering: boolean;
            /**
             * Format: int64
             * @description Revision of the current settings.
             */
            revision: number;
            /** @description Its tenant. */
            tenant: string;
            /**
             * Format: double
             * @description Active visitors as a share of the quota; more than 1 after a release, `null` for a quota of 0.
             */
            utilization?: number | null;
            wait_seconds?: components["schemas"]["Wait"] | null;
            /**
             * Format: int64
             * @description Waiting visitors.
             */
            waiting: number;
        };
        /** @description Statistics of a queue with recent waiting counts. */
        QueueStatsEntry: components["schemas"]["QueueStats"] & {
            /**
             * @description Samples of the last minutes, oldest first: seconds since 1970 and waiting visitors. In a minute without a sample nothing
             *     was recorded.
             */
            recent: number[][];
        };
        /** @description Statistics of queues. */
        QueueStatsList: {
            /** @description The queues by id. */
            queues: components["schemas"]["QueueStatsEntry"][];
        };
        /** @description One interpretation of the path. */
        Reading: {
            /** @description The result for this interpretation alone. */
            outcome: components["schemas"]["Outcome"];
            /** @description The path, as rules see it. */
            path: string;
            /** @description The queue that decides about it; `null` for none, or without access to it. */
            queue?: string | null;
        };
        /** @description How many jobs a consumer wants. */
        ReceiveRequest: {
            /**
             * Format: int64
             * @description Maximum number of jobs. Default: 10.
             */
            max_jobs?: number | null;
            /**
             * Format: int64
             * @description Seconds to wait for a job if none is due. Default: 0.
             */
            wait_seconds?: number | null;
        };
        /** @description A job that a consumer received. */
        ReceivedJob: {
            /** @description Media type of the payload. */
            content_type: string;
            /**
             * Format: int64
             * @description When the job was accepted, in seconds since 1970.
             */
            enqueued_at: number;
            /** @description The group, in a FIFO job queue. */
            group_id?: string | null;
            /** @description ID of the job, the same each time that it is received. */
            job_id: string;
            /** @description Path and query of the visitor's request. */
            params?: unknown;
            /** @description The payload: JSON, or text. */
            payload?: unknown;
            /** @description The payload in base64 if it is neither text nor JSON of at most 60 levels. */
            payload_base64?: string | null;
            /** @description What acknowledges, extends or fails the job, until its lease ends after `timeout` seconds. */
            receipt_handle: string;
            /**
             * Format: int64
             * @description How many times the job was received.
             */
            receive_count: number;
            /**
             * Format: int64
             * @description Number of the job in the order of acceptance.
             */
            sequence_number: number;
            /** @description The session of the visitor who may follow the job. */
            session?: string | null;
            /** @description The user for whom the job runs. */
            user_id?: string | null;
        };
        /** @description The jobs that a consumer received. */
        ReceivedJobs: {
            /** @description The jobs, those that have been due longest first; at most one of each group. */
            jobs: components["schemas"]["ReceivedJob"][];
        };
        /** @description Recovery codes, shown only once. */
        RecoveryCodes: {
            /** @description Each is accepted once in place of a code of the app. */
            recovery_codes: string[];
        };
        /** @description Rejected joins by reason. */
        RejectedCounts: {
            /**
             * Format: int64
             * @description The network is blocked.
             */
            blocked: number;
            /**
             * Format: int64
             * @description The line is full.
             */
            full: number;
            /**
             * Format: int64
             * @description More joins than `per_address` or `per_network`.
             */
            limit: number;
            /**
             * Format: int64
             * @description More joins than `joins_per_second`.
             */
            rate: number;
        };
        /** @description How many visitors to admit. */
        ReleaseRequest: {
            /**
             * Format: int64
             * @description Number of visitors to admit.
             */
            count: number;
        };
        /** @description How many visitors were admitted. */
        ReleaseResult: {
            /** @description `false` if the store stopped responding; up to 500 more visitors may have been admitted. */
            complete: boolean;
            /**
             * Format: int64
             * @description Number of admitted visitors; less than `count` if fewer were waiting.
             */
            released: number;
        };
        /** @description What a replay has done. */
        Replayed: {
            /**
             * @description Whether all wanted jobs were considered. `false`: there are more, or the store stopped responding and more may
             *     have been put back; repeat the request.
             */
            complete: boolean;
            /**
             * Format: int64
             * @description Jobs that were put back.
             */
            replayed: number;
        };
        /**
         * @description The current settings where `If-Match` names an older revision. The client knows the revision that it started from and
         *     can compare all three.
         */
        RevisionConflict: {
            /** @description The current settings. */
            current: components["schemas"]["QueueSettings"];
            /**
             * Format: int64
             * @description The current revision.
             */
            revision: number;
        };
        /**
         * @description A role; each includes the permissions of the previous one.
         * @enum {string}
         */
        Role: "viewer" | "operator" | "superuser";
        /** @description A rule. All of its conditions must match; a condition with several alternatives matches if one of them does. */
        Rule: {
            /**
             * @description What happens to matching requests: `queue`, `bypass` or `hold`; or to clients, whatever they request: `block`, `challenge` or `trust`.
             * @enum {string}
             */
            action: "queue" | "bypass" | "hold" | "block" | "challenge" | "trust";
            /** @description A cookie with its value. */
            cookie?: components["schemas"]["NamedValue"];
            /** @description A header, with its value or a condition on it. */
            header?: components["schemas"]["HeaderCondition"];
            /** @description The FIFO job queue of the orders, with the target `origin`; required with `hold`. */
            job_queue?: string;
            /** @description Methods. */
            method?: string[];
            /**
             * @description With `hold`, what happens to an order that could not be stored: `forward` (the default) or `refuse`.
             * @enum {string}
             */
            on_failure?: "forward" | "refuse";
            /** @description Path globs: `*` within a segment, `**` across segments. */
            path?: string[];
            /** @description Networks or addresses of the visitor, or `@name` for a list of networks. */
            source?: string[];
        };
        /** @description The schedules of a job queue. */
        ScheduleList: {
            /** @description The schedules, as in the settings of the job queue. */
            schedules: components["schemas"]["ScheduleView"][];
        };
        /** @description A schedule, and when it runs next. */
        ScheduleView: {
            /** @description When it runs. */
            cron: string;
            /** @description ID of the schedule. */
            id: string;
            /**
             * Format: int64
             * @description When it runs next, in seconds since 1970; `null` if it never runs again.
             */
            next_run_at?: number | null;
            /** @description Time zone of `cron`. */
            time_zone: string;
        };
        /** @description The sessions that were found. */
        SearchResult: {
            /** @description The sessions, ordered by queue. Usually there is at most one. */
            sessions: components["schemas"]["FoundSession"][];
        };
        /** @description A session in a list. */
        SessionEntry: {
            /**
             * Format: double
             * @description Admission in seconds since 1970; `null` unless active.
             */
            admitted_at?: number | null;
            /**
             * Format: double
             * @description When the session expires without another visit, or when its end is forgotten, in seconds since 1970.
             */
            expires_at: number;
            /**
             * Format: double
             * @description Arrival in seconds since 1970; `null` unless waiting, and for a drawn session.
             */
            joined_at?: number | null;
            /** @description The number that an event's draw gave the session, such as `0.855761`; `null` unless it waits in drawn order. */
            number?: string | null;
            /** @description The session. */
            session: string;
            /** @description The support code on the queue page. */
            support_code: string;
        };
        /** @description A page of a list of sessions. */
        SessionPageView: {
            /** @description Start of the next page as `from`; `null` at the end. */
            next?: string | null;
            /** @description Waiting sessions in order of arrival, active ones in order of admission, ended ones in order of `expires_at`. */
            sessions: components["schemas"]["SessionEntry"][];
        };
        /**
         * @description A session.
         * @enum {string}
         */
        SessionState: "waiting" | "active" | "ended";
        /** @description A session. */
        SessionView: {
            /**
             * Format: double
             * @description Admission in seconds since 1970; `null` unless active.
             */
            admitted_at?: number | null;
            /**
             * Format: double
             * @description When the session expires without another visit, or when its end is forgotten, in seconds since 1970.
             */
            expires_at: number;
            /**
             * Format: double
             * @description Arrival in seconds since 1970; `null` unless waiting, and for a drawn session.
             */
            joined_at?: number | null;
            /**
             * Format: double
             * @description Last recorded visit in seconds since 1970; not every visit is recorded, so the
             *     actual one can be slightly later. `null` unless active: how long a visit keeps a waiting session present
             *     depends on the wait shown.
             */
            last_seen?: number | null;
            /** @description The number that an event's draw gave the session, such as `0.855761`; `null` unless it waits in drawn order. */
            number?: string | null;
            /**
             * Format: int64
             * @description Position in line, from 1; `null` unless waiting.
             */
            position?: number | null;
            /** @description The session. */
            session: string;
            /** @description The state. */
            state: components["schemas"]["SessionState"];
            /** @description The support code on the queue page. */
            support_code: string;
        };
        /** @description A settings document. */
        SettingsDocument: {
            /**
             * @description The job queues by id, without their signing secrets. An import keeps the secrets of job queues that exist, and
             *     generates others.
             */
            job_queues?: components["schemas"]["JobQueueDraft"][];
            /** @description The queues by id. */
            queues: components["schemas"]["QueueSettings"][];
            /** @description The tenants by id. */
            tenants: components["schemas"]["TenantView"][];
        };
        /** @description Tenants, queues and job queues, as in a settings file. */
        SettingsDraft: {
            /** @description The job queues; their tenants must be in `tenants`. */
            job_queues?: components["schemas"]["JobQueueDraft"][] | null;
            /** @description The queues; their tenants must be in `tenants`. */
            queues?: components["schemas"]["QueueDraft"][] | null;
            /** @description The tenants. */
            tenants?: components["schemas"]["TenantDraft"][] | null;
        };
        /** @description The available sign-in methods. */
        SignInMethods: {
            oidc?: components["schemas"]["OidcMethod"] | null;
            /** @description Name and password: `POST /sign-in`. */
            password: boolean;
        };
        /** @description A client brand. */
        TenantDraft: {
            /** @description Brand color as `#rrggbb`; `null` for that of the theme. */
            color?: string | null;
            /** @description Allowed domains for hosts and cookies of its queues, including subdomains. `null`: only superusers and the settings file can set them. */
            domains?: string[] | null;
            /** @description ID of the tenant. */
            id: string;
            /** @description Path of the logo within the theme; `null` shows the name. */
            logo?: string | null;
            /**
             * Format: int64
             * @description Maximum number of its job queues; `null` is 100. Only superusers and the settings file can set it.
             */
            max_job_queues?: number | null;
            /** @description Brand name shown to visitors. */
            name: string;
            /** @description Allowed origins of its queues, such as `https://www.example.com` or `https://*.example.com`. Only an origin that is listed exactly can be in a private network. `null`: only superusers and the settings file can set them. */
            origins?: string[] | null;
        };
        /** @description A client brand. */
        TenantPatch: {
            /** @description Brand color as `#rrggbb`; `null` for that of the theme. */
            color?: string | null;
            /** @description Allowed domains for hosts and cookies of its queues, including subdomains. `null`: only superusers and the settings file can set them. */
            domains?: string[] | null;
            /** @description Path of the logo within the theme; `null` shows the name. */
            logo?: string | null;
            /**
             * Format: int64
             * @description Maximum number of its job queues; `null` is 100. Only superusers and the settings file can set it.
             */
            max_job_queues?: number | null;
            /** @description Brand name shown to visitors. */
            name?: string;
            /** @description Allowed origins of its queues, such as `https://www.example.com` or `https://*.example.com`. Only an origin that is listed exactly can be in a private network. `null`: only superusers and the settings file can set them. */
            origins?: string[] | null;
        };
        /** @description A client brand. */
        TenantView: {
            /** @description Brand color as `#rrggbb`; `null` for that of the theme. */
            color: string | null;
            /** @description Allowed domains for hosts and cookies of its queues, including subdomains. `null`: only superusers and the settings file can set them. */
            domains: string[] | null;
            /** @description ID of the tenant. */
            id: string;
            /** @description Path of the logo within the theme; `null` shows the name. */
            logo: string | null;
            /**
             * Format: int64
             * @description Maximum number of its job queues; `null` is 100. Only superusers and the settings file can set it.
             */
            max_job_queues: number | null;
            /** @description Brand name shown to visitors. */
            name: string;
            /** @description Allowed origins of its queues, such as `https://www.example.com` or `https://*.example.com`. Only an origin that is listed exactly can be in a private network. `null`: only superusers and the settings file can set them. */
            origins: string[] | null;
        };
        /** @description A list of tenants. */
        Tenants: {
            /** @description The tenants by id. */
            tenants: components["schemas"]["TenantView"][];
        };
        /** @description The result of a validation. */
        ThemeCheck: {
            /** @description Total size in bytes. */
            bytes: number;
            /** @description Number of files. */
            files: number;
        };
        /** @description A theme draft. */
        ThemeDraft: {
            /** @description Paths of the other files, which are not sent. The tenant's logo is shown if it is one of them. */
            assets?: string[] | null;
            /**
             * @description Visitor language. Default: "en".
             * @enum {string|null}
             */
            language?: "en" | "de" | "fr" | "es" | "nl" | "cy" | "pt" | "it" | "pl" | "tr" | "ar" | "ja" | "ko" | "zh-Hans" | "zh-Hant" | null;
            /** @description States to render; all by default. */
            states?: ("waiting" | "admitted" | "paused" | "lobby" | "closed" | "full" | "invitation_required" | "unavailable")[] | null;
            /** @description Templates; without any, the built-in pages are rendered. */
            templates: components["schemas"]["DraftTemplate"][];
        };
        /** @description Rendered pages of a draft. */
        ThemeDraftPreview: {
            /**
             * @description Prefix of the URLs of the theme's other files in the pages. Nothing is served there; the client
             *     inserts the files.
             */
            asset_base: string;
            /** @description The nonce of the pages' styles. */
            nonce: string;
            /** @description One page per requested state. */
            pages: components["schemas"]["PreviewPage"][];
        };
        /** @description A list of themes. */
        ThemeList: {
            /** @description Languages for previews. */
            languages: string[];
            /** @description States for previews. */
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
             * @description Upload time in seconds since 1970.
             */
            at: number;
            /**
             * Format: int64
             * @description Total size in bytes.
             */
            bytes: number;
            /**
             * Format: int64
             * @description Number of files.
             */
            files: number;
            /** @description ID of the version; IDs increase with time. */
            id: string;
            /** @description Whether the version is active. */
            live: boolean;
            /** @description The operator who uploaded it. */
            operator: string;
        };
        /** @description The versions of a theme. */
        ThemeVersions: {
            /**
             * Format: int64
             * @description Revision of the theme, for `If-Match`: it grows with every activation and deactivation. While it is 0, visitors see
             *     the files that were copied into the folder, if any.
             */
            revision: number;
            /** @description The versions, newest first. */
            versions: components["schemas"]["ThemeVersionView"][];
        };
        /** @description A theme. */
        ThemeView: {
            /** @description ID of the theme. */
            id: string;
            /** @description Whether the theme is active. */
            live: boolean;
            /** @description Accessible queues that use the theme. */
            queues: string[];
            /** @description The owner: the tenant whose ID the theme ID equals or starts with; `null` for shared themes. */
            tenant?: string | null;
        };
        /** @description A new token. */
        TokenDraft: {
            /**
             * Format: int64
             * @description Seconds until the token expires.
             */
            expires_in: number;
            /** @description Purpose of the token. */
            name: string;
            /**
             * @description Limits the token: `settings` for a token that only exports and imports settings, as needed by `vestibule apply`; `jobs` for one that only enqueues, reads and consumes jobs, with the role operator. Without it the token has all permissions of its role except managing operators and other tokens.
             * @enum {string|null}
             */
            only?: "settings" | "jobs" | null;
            /**
             * @description The role, at most that of its owner.
             * @enum {string}
             */
            role: "viewer" | "operator" | "superuser";
            /** @description The accessible tenants, at most those of its owner; empty for a superuser. */
            tenants?: string[] | null;
        };
        /**
         * @description What a token is limited to, beside its scope.
         * @enum {string}
         */
        TokenLimit: "settings" | "jobs";
        /** @description An API token, without its secret. */
        TokenView: {
            /**
             * Format: int64
             * @description Creation time in seconds since 1970.
             */
            created_at: number;
            /**
             * Format: int64
             * @description Expiry in seconds since 1970.
             */
            expires_at: number;
            /** @description ID of the token. */
            id: string;
            /** @description Purpose of the token. */
            name: string;
            only?: components["schemas"]["TokenLimit"] | null;
            /** @description The owner. */
            operator: string;
            /** @description The role, limited by that of its owner. */
            role: components["schemas"]["Role"];
            /** @description The accessible tenants; empty for all of the owner. */
            tenants: string[];
            /**
             * Format: int64
             * @description Last use in seconds since 1970, accurate to a minute; `null` if never.
             */
            used_at?: number | null;
        };
        /** @description API tokens. */
        Tokens: {
            /** @description The tokens by ID. */
            tokens: components["schemas"]["TokenView"][];
        };
        /** @description The password and the first code of the app. */
        TotpConfirmation: {
            /** @description The current code of the app. */
            code: string;
            /**
             * Format: password
             * @description The operator's password.
             */
            password: string;
        };
        /** @description A secret for an authenticator app, not active yet. */
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
        /** @description A request to test. */
        UrlTest: {
            /** @description Cookies by name. */
            cookies?: {
                [key: string]: string;
            } | null;
            /** @description Headers by name. Those of `VESTIBULE_TRUSTED_HEADERS` count as set by a trusted proxy. */
            headers?: {
                [key: string]: string;
            } | null;
            /** @description Names of the lists of networks that contain the address. The backoffice does not read lists. */
            lists?: string[] | null;
            /** @description The method. Default: "GET". */
            method?: string | null;
            /** @description The queue whose rules are replaced by `rules`. */
            queue?: string | null;
            /** @description Rules to use instead of the saved ones. */
            rules?: components["schemas"]["Rule"][] | null;
            /** @description IP address of the visitor. Without one, `source` matches as for a visitor whose address is not known: in rules with `queue` and `hold` only. */
            source?: string | null;
            /** @description The URL with its host, such as `https://tickets.example.com/shop/seats`. */
            url: string;
        };
        /** @description The result of a URL test. */
        UrlTestResult: {
            /** @description The evaluated queues in order, each with a reason. */
            evaluated: components["schemas"]["EvaluatedQueue"][];
            /** @description The host, as rules see it. */
            host: string;
            /** @description The result. */
            outcome: components["schemas"]["Outcome"];
            /** @description The interpretation of the path that decides; the path as sent if it is rejected. */
            path: string;
            /** @description The queue that decides; `null` for none, or without access to it. */
            queue?: string | null;
            /**
             * @description All interpretations of the path by origins; the first is the path as sent. A request bypasses queues only if
             *     all interpretations do, and is rejected if different queues decide about them.
             */
            readings: components["schemas"]["Reading"][];
        };
        /** @description The result of a validation. */
        Validated: {
            /** @description The changed fields. */
            changes: components["schemas"]["FieldChange"][];
            /** @description The resulting settings. */
            settings: components["schemas"]["QueueSettings"];
            /** @description What the change does not prevent, and may surprise: an event that is saved shortly before its lobby. */
            warnings: components["schemas"]["FieldProblem"][];
        };
        /**
         * @description How a change was made.
         * @enum {string}
         */
        Via: "api" | "command_line" | "settings_file" | "beacon";
        /** @description A median and a 90th percentile of an estimate. */
        Wait: {
            /**
             * Format: int64
             * @description The median in seconds.
             */
            p50: number;
            /**
             * Format: int64
             * @description The 90th percentile in seconds.
             */
            p90: number;
        };
        /** @description Number of admitted visitors who waited no longer than a time. */
        WaitCount: {
            /**
             * Format: int64
             * @description Admitted visitors who waited at most this long, those of shorter waits included.
             */
            count: number;
            /**
             * Format: int64
             * @description Longest wait in seconds; `null` for any.
             */
            le?: number | null;
        };
        /**
         * Format: binary
         * @description The files of a theme as a ZIP archive; a folder around all of them is left out.
         */
        ZipArchive: string;
    };
    responses: {
        /** @description A problem: 400 or 415 if the body cannot be read, 401 without a valid sign-in or token, 403 without permission, 404 for what does not exist or is not accessible, 413 if the body is too large, 422 if a field or parameter is invalid, 429 if attempts are limited, 503 if the store is unavailable, 504 if the store did not respond to a change, which may or may not have been applied */
        Problem: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDetails"];
            };
        };
        /** @description Invalid settings, or the tenant's list of origins does not allow the handler */
        InvalidSettings: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDetails"];
            };
        };
        /** @description Confirmation required */
        ConfirmationRequired: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDetails"];
            };
        };
        /** @description `If-Match` is missing */
        IfMatchIsMissing: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDetails"];
            };
        };
        /** @description `unknown_job_queue` */
        UnknownJobQueue: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDetails"];
            };
        };
        /** @description `pull_not_supported`: the jobs are held orders */
        PullNotSupportedTheJobsAreHeldOrders: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDetails"];
            };
        };
        /** @description `outcome_unknown`: repeat the request */
        OutcomeUnknownRepeatTheRequest: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDetails"];
            };
        };
        /** @description `job_queue_full`, `not_queued`, `store_unavailable`: nothing is queued. `enqueue_unconfirmed`: the job may or may not be queued */
        JobQueueFull: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDetails"];
            };
        };
        /** @description The store did not respond; the job queue may or may not be paused */
        TheStoreDidNotRespond: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDetails"];
            };
        };
        /** @description `no_signing_secret`: the target is not `http` */
        NoSigningSecretTheTargetIsNotHttp: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDetails"];
            };
        };
        /** @description Someone else changed this operator at the same time */
        SomeoneElseChangedThisOperatorAtTheSameTime: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDetails"];
            };
        };
        /** @description The ID is in use, or another queue conflicts */
        TheIDIsInUse: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDetails"];
            };
        };
        /** @description Changed by someone else */
        ChangedBySomeoneElse: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDetails"];
            };
        };
        /** @description Someone else is changing it */
        SomeoneElseIsChangingIt: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDetails"];
            };
        };
        /** @description The order of an event is being drawn */
        TheOrderOfAnEventIsBeingDrawn: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDetails"];
            };
        };
        /** @description Too many attempts; `Retry-After` says when to try again */
        TooManyAttempts: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDetails"];
            };
        };
        /** @description Theme storage is not configured */
        ThemeStorageIsNotConfigured: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDetails"];
            };
        };
    };
    parameters: {
        /** @description Only events of this tenant. */
        QueryTenant: string;
        /** @description Only events of this queue. */
        QueryQueue: string;
        /** @description Only events of this operator. */
        QueryOperator: string;
        /** @description Only actions with this prefix, such as `queue.`. */
        QueryAction: string;
        /** @description Only events that contain this text. */
        QuerySearch: string;
        /** @description Earliest time in seconds since 1970. Default: 0. */
        QueryFrom: number;
        /** @description Latest time in seconds since 1970. Default: 1099511627776. */
        QueryTo: number;
        /** @description Only events before this one, such as `next` of the previous page. */
        QueryBefore: string;
        /** @description Maximum number of results. Default: 50. */
        QueryLimit: number;
        /** @description ID of the job queue */
        PathJobQueue: string;
        /** @description The confirmation token of the first response */
        HeaderXVestibuleConfirm: string | null;
        /** @description The `ETag` of the revision to update, or `*` for any */
        HeaderIfMatch: string;
        /** @description ID of the job */
        PathJob: string;
        /** @description Name of the operator */
        PathOperator: string;
        /** @description Validate only; nothing is written. */
        QueryValidate: boolean;
        /** @description ID of the queue */
        PathQueue: string;
        /** @description ID of the event */
        PathEvent: string;
        /** @description Format of the response. Default: "json". */
        QueryFormat: "json" | "csv";
        /** @description ID or support code of the session */
        PathSession: string;
        /** @description ID of the tenant */
        PathTenant: string;
        /** @description ID of the theme */
        PathTheme: string;
        /** @description ID of the version */
        PathVersion: string;
    };
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    search_audit: {
        parameters: {
            query?: {
                /** @description Only events of this tenant. */
                tenant?: components["parameters"]["QueryTenant"];
                /** @description Only events of this queue. */
                queue?: components["parameters"]["QueryQueue"];
                /** @description Only events of this operator. */
                operator?: components["parameters"]["QueryOperator"];
                /** @description Only actions with this prefix, such as `queue.`. */
                action?: components["parameters"]["QueryAction"];
                /** @description Only events that contain this text. */
                search?: components["parameters"]["QuerySearch"];
                /** @description Earliest time in seconds since 1970. Default: 0. */
                from?: components["parameters"]["QueryFrom"];
                /** @description Latest time in seconds since 1970. Default: 1099511627776. */
                to?: components["parameters"]["QueryTo"];
                /** @description Only events before this one, such as `next` of the previous page. */
                before?: components["parameters"]["QueryBefore"];
                /** @description Maximum number of results. Default: 50. */
                limit?: components["parameters"]["QueryLimit"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditPage"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    export_audit: {
        parameters: {
            query?: {
                /** @description Only events of this tenant. */
                tenant?: components["parameters"]["QueryTenant"];
                /** @description Only events of this queue. */
                queue?: components["parameters"]["QueryQueue"];
                /** @description Only events of this operator. */
                operator?: components["parameters"]["QueryOperator"];
                /** @description Only actions with this prefix, such as `queue.`. */
                action?: components["parameters"]["QueryAction"];
                /** @description Only events that contain this text. */
                search?: components["parameters"]["QuerySearch"];
                /** @description Earliest time in seconds since 1970. Default: 0. */
                from?: components["parameters"]["QueryFrom"];
                /** @description Latest time in seconds since 1970. Default: 1099511627776. */
                to?: components["parameters"]["QueryTo"];
                /** @description Only events before this one, such as `next` of the previous page. */
                before?: components["parameters"]["QueryBefore"];
                /** @description Format of the response. With `before`, CSV has no line with the names of the columns. Default: "ndjson". */
                format?: "ndjson" | "csv";
                /** @description Maximum number of events of the response, which then has at most about 512 KiB. `X-Vestibule-Next` is `before` of the next part. 0 returns all events, which a function cannot send if they exceed 1 MB. Default: 0. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The events, newest first */
            200: {
                headers: {
                    /** @description With `limit`, `before` of the next part. Absent at the end. A part can have few events although more follow. */
                    "X-Vestibule-Next"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                    "text/csv": string;
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    list_job_queues: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job queues */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobQueueList"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    create_job_queue: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JobQueueDraft"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobQueueView"];
                };
            };
            /** @description The ID is in use, or the deployment has the maximum number of job queues */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            422: components["responses"]["InvalidSettings"];
            default: components["responses"]["Problem"];
        };
    };
    get_job_queue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the job queue */
                job_queue: components["parameters"]["PathJobQueue"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Settings and statistics */
            200: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobQueueView"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    remove_job_queue: {
        parameters: {
            query?: never;
            header?: {
                /** @description The confirmation token of the first response */
                "X-Vestibule-Confirm"?: components["parameters"]["HeaderXVestibuleConfirm"];
            };
            path: {
                /** @description ID of the job queue */
                job_queue: components["parameters"]["PathJobQueue"];
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
            /** @description `job_queue_not_empty`: it has jobs or dead letters. `job_queue_in_use`: rules hold orders in it */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            428: components["responses"]["ConfirmationRequired"];
            default: components["responses"]["Problem"];
        };
    };
    update_job_queue: {
        parameters: {
            query?: never;
            header: {
                /** @description The `ETag` of the revision to update, or `*` for any */
                "If-Match": components["parameters"]["HeaderIfMatch"];
            };
            path: {
                /** @description ID of the job queue */
                job_queue: components["parameters"]["PathJobQueue"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/merge-patch+json": components["schemas"]["JobQueuePatch"];
            };
        };
        responses: {
            /** @description The job queue after the update */
            200: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobQueueView"];
                };
            };
            /** @description Changed by someone else; nothing was written */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            422: components["responses"]["InvalidSettings"];
            428: components["responses"]["IfMatchIsMissing"];
            /** @description The store did not respond; the change may or may not have been applied */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    acknowledge_jobs: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the job queue */
                job_queue: components["parameters"]["PathJobQueue"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AcknowledgeRequest"];
            };
        };
        responses: {
            /** @description The results */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LeaseResults"];
                };
            };
            404: components["responses"]["UnknownJobQueue"];
            409: components["responses"]["PullNotSupportedTheJobsAreHeldOrders"];
            504: components["responses"]["OutcomeUnknownRepeatTheRequest"];
            default: components["responses"]["Problem"];
        };
    };
    list_dead_letters: {
        parameters: {
            query?: {
                /** @description Return dead letters before this position: `next` of the previous page. */
                before?: string;
                /** @description Maximum number of results. Default: 50. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description ID of the job queue */
                job_queue: components["parameters"]["PathJobQueue"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The dead letters */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeadLetterPage"];
                };
            };
            404: components["responses"]["UnknownJobQueue"];
            default: components["responses"]["Problem"];
        };
    };
    delete_dead_letters: {
        parameters: {
            query?: never;
            header?: {
                /** @description The confirmation token of the first response */
                "X-Vestibule-Confirm"?: components["parameters"]["HeaderXVestibuleConfirm"];
            };
            path: {
                /** @description ID of the job queue */
                job_queue: components["parameters"]["PathJobQueue"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeadLetterSelection"];
            };
        };
        responses: {
            /** @description How many were deleted */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedDeadLetters"];
                };
            };
            404: components["responses"]["UnknownJobQueue"];
            428: components["responses"]["ConfirmationRequired"];
            /** @description The storage of jobs did not respond to the first part; some may have been deleted */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    replay_dead_letters: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the job queue */
                job_queue: components["parameters"]["PathJobQueue"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeadLetterSelection"];
            };
        };
        responses: {
            /** @description How many were put back */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Replayed"];
                };
            };
            404: components["responses"]["UnknownJobQueue"];
            /** @description `not_replayable`: the jobs are held orders */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The storage of jobs did not respond to the first part; some may have been put back */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    get_dead_letter: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the job queue */
                job_queue: components["parameters"]["PathJobQueue"];
                /** @description ID of the job */
                job: components["parameters"]["PathJob"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The dead letter */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            /** @description `unknown_job_queue`, or `unknown_dead_letter` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    delete_dead_letter: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the job queue */
                job_queue: components["parameters"]["PathJobQueue"];
                /** @description ID of the job */
                job: components["parameters"]["PathJob"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `unknown_job_queue`, or `unknown_dead_letter` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    resolve_dead_letter: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the job queue */
                job_queue: components["parameters"]["PathJobQueue"];
                /** @description ID of the job */
                job: components["parameters"]["PathJob"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OrderResolution"];
            };
        };
        responses: {
            /** @description Recorded */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `unknown_job_queue`, or `unknown_dead_letter`: there is no held order with an unknown outcome and this ID */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    drain_job_queue: {
        parameters: {
            query?: never;
            header?: {
                /** @description The confirmation token of the first response */
                "X-Vestibule-Confirm"?: components["parameters"]["HeaderXVestibuleConfirm"];
            };
            path: {
                /** @description ID of the job queue */
                job_queue: components["parameters"]["PathJobQueue"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How many were canceled */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DrainedJobs"];
                };
            };
            428: components["responses"]["ConfirmationRequired"];
            /** @description The storage of jobs did not respond to the first part; some jobs may have been canceled */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    extend_leases: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the job queue */
                job_queue: components["parameters"]["PathJobQueue"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ExtendRequest"];
            };
        };
        responses: {
            /** @description The results */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LeaseResults"];
                };
            };
            404: components["responses"]["UnknownJobQueue"];
            409: components["responses"]["PullNotSupportedTheJobsAreHeldOrders"];
            504: components["responses"]["OutcomeUnknownRepeatTheRequest"];
            default: components["responses"]["Problem"];
        };
    };
    fail_jobs: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the job queue */
                job_queue: components["parameters"]["PathJobQueue"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["FailRequest"];
            };
        };
        responses: {
            /** @description The results */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LeaseResults"];
                };
            };
            404: components["responses"]["UnknownJobQueue"];
            409: components["responses"]["PullNotSupportedTheJobsAreHeldOrders"];
            504: components["responses"]["OutcomeUnknownRepeatTheRequest"];
            default: components["responses"]["Problem"];
        };
    };
    enqueue_job: {
        parameters: {
            query?: {
                /** @description The group; required in a FIFO job queue, which runs the jobs of a group one at a time, in order. */
                group_id?: string;
                /** @description A job with the ID of an earlier one is a duplicate and is not queued. By default the header `Idempotency-Key`, and without it, in a FIFO job queue, the content. */
                deduplication_id?: string;
                /** @description Seconds until the job is due. Standard job queues only. Default: 0. */
                delay?: number;
            };
            header?: {
                /** @description The deduplication ID, if the query has none */
                "Idempotency-Key"?: string | null;
                /** @description The user of your site for whom the job runs */
                "Vestibule-User-Id"?: string | null;
                /** @description The session of the visitor who may follow the job: `sub` of the pass, or `X-Vestibule-Session` */
                "Vestibule-Session"?: string | null;
            };
            path: {
                /** @description ID of the job queue */
                job_queue: components["parameters"]["PathJobQueue"];
            };
            cookie?: never;
        };
        /** @description The payload, of any content type */
        requestBody: {
            content: {
                "application/json": unknown;
                "application/octet-stream": unknown;
                "text/plain": string;
            };
        };
        responses: {
            /** @description Queued, or a duplicate of an earlier job */
            202: {
                headers: {
                    /** @description Path of the job */
                    Location?: string;
                    /** @description `true` for a duplicate */
                    "X-Job-Duplicate"?: string | null;
                    /** @description ID of the job */
                    "X-Job-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EnqueuedJob"];
                };
            };
            /** @description `group_required`, `group_not_supported`, `delay_not_supported`, `invalid_id` or `invalid_json` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            404: components["responses"]["UnknownJobQueue"];
            /** @description `held_orders_only` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description `empty_payload`, or an invalid parameter */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            503: components["responses"]["JobQueueFull"];
            default: components["responses"]["Problem"];
        };
    };
    enqueue_jobs: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the job queue */
                job_queue: components["parameters"]["PathJobQueue"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JobsDraft"];
            };
        };
        responses: {
            /** @description The results */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobResults"];
                };
            };
            404: components["responses"]["UnknownJobQueue"];
            default: components["responses"]["Problem"];
        };
    };
    get_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the job queue */
                job_queue: components["parameters"]["PathJobQueue"];
                /** @description ID of the job */
                job: components["parameters"]["PathJob"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            /** @description `unknown_job_queue`, or `unknown_job`: there is no such job, or its result has expired */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    cancel_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the job queue */
                job_queue: components["parameters"]["PathJobQueue"];
                /** @description ID of the job */
                job: components["parameters"]["PathJob"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Canceled */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `unknown_job_queue`, or `unknown_job`: there is no such job, or its result has expired */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description `job_leased`: the job runs. `job_finished`: it is completed or a dead letter */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    pause_job_queue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the job queue */
                job_queue: components["parameters"]["PathJobQueue"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job queue */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobQueueView"];
                };
            };
            504: components["responses"]["TheStoreDidNotRespond"];
            default: components["responses"]["Problem"];
        };
    };
    receive_jobs: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the job queue */
                job_queue: components["parameters"]["PathJobQueue"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReceiveRequest"];
            };
        };
        responses: {
            /** @description The jobs; none if none was due in time */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReceivedJobs"];
                };
            };
            404: components["responses"]["UnknownJobQueue"];
            /** @description `pull_not_supported`: the target is not `pull` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description `too_many_receives`: no job was leased; repeat the request after `Retry-After` */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    resume_job_queue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the job queue */
                job_queue: components["parameters"]["PathJobQueue"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job queue */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobQueueView"];
                };
            };
            504: components["responses"]["TheStoreDidNotRespond"];
            default: components["responses"]["Problem"];
        };
    };
    list_schedules: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the job queue */
                job_queue: components["parameters"]["PathJobQueue"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The schedules */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleList"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    run_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the job queue */
                job_queue: components["parameters"]["PathJobQueue"];
                /** @description ID of the schedule */
                schedule: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Queued */
            202: {
                headers: {
                    /** @description Path of the job */
                    Location?: string;
                    /** @description ID of the job */
                    "X-Job-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EnqueuedJob"];
                };
            };
            /** @description `unknown_job_queue` or `unknown_schedule` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            503: components["responses"]["JobQueueFull"];
            default: components["responses"]["Problem"];
        };
    };
    get_job_queue_secret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the job queue */
                job_queue: components["parameters"]["PathJobQueue"];
            };
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
                    "application/json": components["schemas"]["JobQueueSecret"];
                };
            };
            409: components["responses"]["NoSigningSecretTheTargetIsNotHttp"];
            default: components["responses"]["Problem"];
        };
    };
    rotate_job_queue_secret: {
        parameters: {
            query?: never;
            header?: {
                /** @description The confirmation token of the first response */
                "X-Vestibule-Confirm"?: components["parameters"]["HeaderXVestibuleConfirm"];
            };
            path: {
                /** @description ID of the job queue */
                job_queue: components["parameters"]["PathJobQueue"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The new secret */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobQueueSecret"];
                };
            };
            409: components["responses"]["NoSigningSecretTheTargetIsNotHttp"];
            428: components["responses"]["ConfirmationRequired"];
            /** @description The store did not respond; read the secret before you rotate it again */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    get_job_queue_stats: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the job queue */
                job_queue: components["parameters"]["PathJobQueue"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The statistics */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobQueueStats"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    test_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the job queue */
                job_queue: components["parameters"]["PathJobQueue"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Queued */
            202: {
                headers: {
                    /** @description Path of the job */
                    Location?: string;
                    /** @description ID of the job */
                    "X-Job-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EnqueuedJob"];
                };
            };
            404: components["responses"]["UnknownJobQueue"];
            /** @description `no_webhook`: the job queue delivers no webhook events */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            503: components["responses"]["JobQueueFull"];
            default: components["responses"]["Problem"];
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
            default: components["responses"]["Problem"];
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
            /** @description The name is in use */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    get_operator: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of the operator */
                operator: components["parameters"]["PathOperator"];
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
            default: components["responses"]["Problem"];
        };
    };
    remove_operator: {
        parameters: {
            query?: never;
            header?: {
                /** @description The confirmation token of the first response */
                "X-Vestibule-Confirm"?: components["parameters"]["HeaderXVestibuleConfirm"];
            };
            path: {
                /** @description Name of the operator */
                operator: components["parameters"]["PathOperator"];
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
            /** @description The last superuser */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            428: components["responses"]["ConfirmationRequired"];
            default: components["responses"]["Problem"];
        };
    };
    update_operator: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of the operator */
                operator: components["parameters"]["PathOperator"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OperatorPatch"];
            };
        };
        responses: {
            /** @description The updated operator */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorView"];
                };
            };
            /** @description The last superuser, or someone else is changing the operator */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    remove_operator_totp: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of the operator */
                operator: components["parameters"]["PathOperator"];
            };
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
            409: components["responses"]["SomeoneElseChangedThisOperatorAtTheSameTime"];
            default: components["responses"]["Problem"];
        };
    };
    list_queues: {
        parameters: {
            query?: {
                /** @description Only queues of this tenant. */
                tenant?: string;
                /** @description Only queues with this text in ID, name or a host. */
                search?: string;
                /** @description Return queues after this ID. */
                after?: string;
                /** @description Maximum number of results. Default: 100. */
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
            default: components["responses"]["Problem"];
        };
    };
    create_queue: {
        parameters: {
            query?: {
                /** @description Validate only; nothing is written. */
                validate?: components["parameters"]["QueryValidate"];
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
            409: components["responses"]["TheIDIsInUse"];
            default: components["responses"]["Problem"];
        };
    };
    get_queue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the queue */
                queue: components["parameters"]["PathQueue"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The settings */
            200: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueSettings"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    remove_queue: {
        parameters: {
            query?: never;
            header?: {
                /** @description The confirmation token of the first response */
                "X-Vestibule-Confirm"?: components["parameters"]["HeaderXVestibuleConfirm"];
            };
            path: {
                /** @description ID of the queue */
                queue: components["parameters"]["PathQueue"];
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
            428: components["responses"]["ConfirmationRequired"];
            default: components["responses"]["Problem"];
        };
    };
    update_queue: {
        parameters: {
            query?: {
                /** @description Validate only; nothing is written. */
                validate?: components["parameters"]["QueryValidate"];
            };
            header: {
                /** @description The `ETag` of the revision to update, or `*` for any */
                "If-Match": components["parameters"]["HeaderIfMatch"];
                /** @description The confirmation token of the first response */
                "X-Vestibule-Confirm"?: components["parameters"]["HeaderXVestibuleConfirm"];
            };
            path: {
                /** @description ID of the queue */
                queue: components["parameters"]["PathQueue"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/merge-patch+json": components["schemas"]["QueuePatch"];
            };
        };
        responses: {
            /** @description The settings after the update, or with `validate` the changes */
            200: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changed"];
                };
            };
            /** @description Another queue conflicts */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            412: components["responses"]["ChangedBySomeoneElse"];
            /** @description `If-Match` is missing, or confirmation required */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    start_attack_mode: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the queue */
                queue: components["parameters"]["PathQueue"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AttackModeRequest"];
            };
        };
        responses: {
            /** @description When it ends */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AttackModeState"];
                };
            };
            /** @description The store did not respond; attack mode may or may not be on */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    end_attack_mode: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the queue */
                queue: components["parameters"]["PathQueue"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is off */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The store did not respond; attack mode may or may not be on */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    clone_queue: {
        parameters: {
            query?: {
                /** @description Validate only; nothing is written. */
                validate?: components["parameters"]["QueryValidate"];
            };
            header?: never;
            path: {
                /** @description ID of the queue */
                queue: components["parameters"]["PathQueue"];
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
            409: components["responses"]["TheIDIsInUse"];
            default: components["responses"]["Problem"];
        };
    };
    update_controls: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the queue */
                queue: components["parameters"]["PathQueue"];
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
            409: components["responses"]["SomeoneElseIsChangingIt"];
            default: components["responses"]["Problem"];
        };
    };
    drain_queue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the queue */
                queue: components["parameters"]["PathQueue"];
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
            409: components["responses"]["SomeoneElseIsChangingIt"];
            default: components["responses"]["Problem"];
        };
    };
    get_event: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the queue */
                queue: components["parameters"]["PathQueue"];
                /** @description ID of the event */
                event: components["parameters"]["PathEvent"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The event */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventState"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    record_beacon_value: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the queue */
                queue: components["parameters"]["PathQueue"];
                /** @description ID of the event */
                event: components["parameters"]["PathEvent"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BeaconDraft"];
            };
        };
        responses: {
            /** @description The event with its draw */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventState"];
                };
            };
            /** @description The event has no beacon, or its value was recorded before */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Another round, too early or too late */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    get_event_report: {
        parameters: {
            query?: {
                /** @description Format of the response. Default: "json". */
                format?: components["parameters"]["QueryFormat"];
            };
            header?: never;
            path: {
                /** @description ID of the queue */
                queue: components["parameters"]["PathQueue"];
                /** @description ID of the event */
                event: components["parameters"]["PathEvent"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The report */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueReport"];
                    "text/csv": string;
                };
            };
            /** @description The lobby has not opened, or the event is suspended */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    get_queue_forecast: {
        parameters: {
            query?: {
                /** @description The quota; by default the current one. */
                quota?: number;
            };
            header?: never;
            path: {
                /** @description ID of the queue */
                queue: components["parameters"]["PathQueue"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The forecast */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueForecast"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    get_queue_history: {
        parameters: {
            query?: {
                /** @description Time between two samples: a minute, for the last day, or five minutes, for the last 30 days. Default: "minute". */
                step?: "minute" | "five_minutes";
                /** @description Start time in seconds since 1970. Default: 0. */
                from?: number;
                /** @description Format of the response. Default: "json". */
                format?: components["parameters"]["QueryFormat"];
            };
            header?: never;
            path: {
                /** @description ID of the queue */
                queue: components["parameters"]["PathQueue"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The samples */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueHistory"];
                    "text/csv": string;
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    list_invitations: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the queue */
                queue: components["parameters"]["PathQueue"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The batches */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvitationList"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    get_invitation_codes: {
        parameters: {
            query?: {
                /** @description Number of the first code. Default: 1. */
                from?: number;
                /** @description How many codes, at most 100,000. Fewer if the batch has no more. Where the backoffice is a function, its responses have at most 1 MB, which are about 8,000 codes. Default: 5000. */
                count?: number;
            };
            header?: never;
            path: {
                /** @description ID of the queue */
                queue: components["parameters"]["PathQueue"];
                /** @description ID of the batch */
                batch: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The codes */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                };
            };
            /** @description The backoffice does not know the sale key of the batch */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    get_queue_protection: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the queue */
                queue: components["parameters"]["PathQueue"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The report */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueProtection"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    release: {
        parameters: {
            query?: never;
            header?: {
                /** @description The confirmation token of the first response */
                "X-Vestibule-Confirm"?: components["parameters"]["HeaderXVestibuleConfirm"];
                /** @description Identifies the request so that it can be retried safely */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description ID of the queue */
                queue: components["parameters"]["PathQueue"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReleaseRequest"];
            };
        };
        responses: {
            /** @description How many visitors were admitted */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReleaseResult"];
                };
            };
            409: components["responses"]["TheOrderOfAnEventIsBeingDrawn"];
            428: components["responses"]["ConfirmationRequired"];
            /** @description The store did not respond; visitors may or may not have been admitted */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    get_queue_report: {
        parameters: {
            query?: {
                /** @description Format of the response. Default: "json". */
                format?: components["parameters"]["QueryFormat"];
            };
            header?: never;
            path: {
                /** @description ID of the queue */
                queue: components["parameters"]["PathQueue"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The report */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueReport"];
                    "text/csv": string;
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    reset_queue: {
        parameters: {
            query?: never;
            header?: {
                /** @description The confirmation token of the first response */
                "X-Vestibule-Confirm"?: components["parameters"]["HeaderXVestibuleConfirm"];
            };
            path: {
                /** @description ID of the queue */
                queue: components["parameters"]["PathQueue"];
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
            428: components["responses"]["ConfirmationRequired"];
            default: components["responses"]["Problem"];
        };
    };
    list_sessions: {
        parameters: {
            query?: {
                /** @description The sessions to list. Default: "waiting". */
                state?: "waiting" | "active" | "ended";
                /** @description `next` of the previous page. */
                from?: string;
                /** @description Maximum number of results. Default: 50. */
                limit?: components["parameters"]["QueryLimit"];
            };
            header?: never;
            path: {
                /** @description ID of the queue */
                queue: components["parameters"]["PathQueue"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of sessions */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionPageView"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    find_session: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the queue */
                queue: components["parameters"]["PathQueue"];
                /** @description ID or support code of the session */
                session: components["parameters"]["PathSession"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The session */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionView"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    admit_session: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the queue */
                queue: components["parameters"]["PathQueue"];
                /** @description ID or support code of the session */
                session: components["parameters"]["PathSession"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Whether the session was admitted */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdmitResult"];
                };
            };
            409: components["responses"]["TheOrderOfAnEventIsBeingDrawn"];
            default: components["responses"]["Problem"];
        };
    };
    end_session: {
        parameters: {
            query?: never;
            header?: {
                /** @description The confirmation token of the first response */
                "X-Vestibule-Confirm"?: components["parameters"]["HeaderXVestibuleConfirm"];
            };
            path: {
                /** @description ID of the queue */
                queue: components["parameters"]["PathQueue"];
                /** @description ID or support code of the session */
                session: components["parameters"]["PathSession"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The session before it ended */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndedSession"];
                };
            };
            428: components["responses"]["ConfirmationRequired"];
            default: components["responses"]["Problem"];
        };
    };
    get_queue_stats: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the queue */
                queue: components["parameters"]["PathQueue"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The statistics */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueStats"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    search_sessions: {
        parameters: {
            query: {
                /** @description A support code or a session ID. */
                code: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The sessions with this code */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SearchResult"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    export_settings: {
        parameters: {
            query?: {
                /** @description Format of the document. Default: "json". */
                format?: "json" | "toml";
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
            default: components["responses"]["Problem"];
        };
    };
    import_settings: {
        parameters: {
            query?: {
                /** @description Return the plan only; nothing is written. */
                validate?: boolean;
                /** @description Remove queues that the document does not contain. */
                remove?: boolean;
            };
            header?: {
                /** @description The confirmation token of the first response */
                "X-Vestibule-Confirm"?: components["parameters"]["HeaderXVestibuleConfirm"];
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
            /** @description The import or its plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportResult"];
                };
            };
            /** @description Queues would conflict, or someone else is changing a tenant; queues and job queues are not written then */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            428: components["responses"]["ConfirmationRequired"];
            default: components["responses"]["Problem"];
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
            /** @description The current principal, or `null` */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CurrentPrincipal"] | null;
                };
            };
            /** @description The token is invalid, expired or revoked */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The token is limited to other endpoints */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
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
            /** @description Incorrect name, password or code, or a missing code */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            409: components["responses"]["SomeoneElseChangedThisOperatorAtTheSameTime"];
            429: components["responses"]["TooManyAttempts"];
            default: components["responses"]["Problem"];
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
            default: components["responses"]["Problem"];
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
            /** @description The sign-in methods */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignInMethods"];
                };
            };
            default: components["responses"]["Problem"];
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
            default: components["responses"]["Problem"];
        };
    };
    complete_oidc: {
        parameters: {
            query?: {
                /** @description The authorization code */
                code?: string;
                /** @description The state of the authorization request */
                state?: string;
                /** @description Why the provider rejected the sign-in */
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
            default: components["responses"]["Problem"];
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
            409: components["responses"]["SomeoneElseChangedThisOperatorAtTheSameTime"];
            429: components["responses"]["TooManyAttempts"];
            default: components["responses"]["Problem"];
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
            /** @description The password is confirmed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            429: components["responses"]["TooManyAttempts"];
            default: components["responses"]["Problem"];
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
            /** @description TOTP is already set up, or no setup is in progress */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            429: components["responses"]["TooManyAttempts"];
            default: components["responses"]["Problem"];
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
            /** @description The secret for an authenticator app */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TotpSetup"];
                };
            };
            /** @description TOTP is already set up */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
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
            409: components["responses"]["SomeoneElseChangedThisOperatorAtTheSameTime"];
            default: components["responses"]["Problem"];
        };
    };
    list_queue_stats: {
        parameters: {
            query?: {
                /** @description Minutes of recent waiting counts to include. Default: 0. */
                recent?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The statistics */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueStatsList"];
                };
            };
            default: components["responses"]["Problem"];
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
            /** @description Streaming is not available in this deployment */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
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
            default: components["responses"]["Problem"];
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
            /** @description The ID is in use */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    get_tenant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the tenant */
                tenant: components["parameters"]["PathTenant"];
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
            default: components["responses"]["Problem"];
        };
    };
    remove_tenant: {
        parameters: {
            query?: never;
            header?: {
                /** @description The confirmation token of the first response */
                "X-Vestibule-Confirm"?: components["parameters"]["HeaderXVestibuleConfirm"];
            };
            path: {
                /** @description ID of the tenant */
                tenant: components["parameters"]["PathTenant"];
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
            /** @description The tenant has queues, job queues or themes, someone else is removing it, or too many tenants were removed within `--audit-days` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            428: components["responses"]["ConfirmationRequired"];
            default: components["responses"]["Problem"];
        };
    };
    update_tenant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the tenant */
                tenant: components["parameters"]["PathTenant"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TenantPatch"];
            };
        };
        responses: {
            /** @description The updated tenant */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantView"];
                };
            };
            /** @description Queues of the tenant use values that the lists do not allow, or others are changing the tenant */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
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
            409: components["responses"]["ThemeStorageIsNotConfigured"];
            default: components["responses"]["Problem"];
        };
    };
    remove_theme: {
        parameters: {
            query?: never;
            header?: {
                /** @description The confirmation token of the first response */
                "X-Vestibule-Confirm"?: components["parameters"]["HeaderXVestibuleConfirm"];
            };
            path: {
                /** @description ID of the theme */
                theme: components["parameters"]["PathTheme"];
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
            /** @description Queues use the theme, or theme storage is not configured */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            428: components["responses"]["ConfirmationRequired"];
            default: components["responses"]["Problem"];
        };
    };
    deactivate_theme: {
        parameters: {
            query?: never;
            header: {
                /** @description The `ETag` of the versions, or `*` for any */
                "If-Match": string;
            };
            path: {
                /** @description ID of the theme */
                theme: components["parameters"]["PathTheme"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deactivated */
            204: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            409: components["responses"]["ThemeStorageIsNotConfigured"];
            412: components["responses"]["ChangedBySomeoneElse"];
            428: components["responses"]["IfMatchIsMissing"];
            default: components["responses"]["Problem"];
        };
    };
    download_live_theme: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the theme */
                theme: components["parameters"]["PathTheme"];
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
            409: components["responses"]["ThemeStorageIsNotConfigured"];
            default: components["responses"]["Problem"];
        };
    };
    preview_theme: {
        parameters: {
            query?: {
                /** @description ID of the version; the active version by default. */
                version?: string;
                /** @description ID of a queue that uses the theme. The page has its name, brand and settings. */
                queue?: string;
                /** @description Visitor state. Default: "waiting". */
                state?: "waiting" | "admitted" | "paused" | "lobby" | "closed" | "full" | "invitation_required" | "unavailable";
                /** @description Visitor language. Default: "en". */
                language?: "en" | "de" | "fr" | "es" | "nl" | "cy" | "pt" | "it" | "pl" | "tr" | "ar" | "ja" | "ko" | "zh-Hans" | "zh-Hant";
                /** @description Name of an event that is ahead, for the states `paused` and `closed`. */
                event?: string;
                /** @description When the event starts; needed with `event`. */
                starts_at?: string;
                /** @description Seconds until the start that the page shows. Default: 900. */
                starts_in?: number;
                /** @description The operator's message; by default a sample for the state `waiting`. */
                message?: string;
            };
            header?: never;
            path: {
                /** @description ID of the theme */
                theme: components["parameters"]["PathTheme"];
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
            409: components["responses"]["ThemeStorageIsNotConfigured"];
            /** @description A parameter or the theme is invalid; `errors` lists all problems */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    preview_theme_draft: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the theme, which need not exist yet */
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
            /** @description A field or the theme is invalid; `errors` lists all problems, with file and line as `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    list_theme_versions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the theme */
                theme: components["parameters"]["PathTheme"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The versions */
            200: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThemeVersions"];
                };
            };
            409: components["responses"]["ThemeStorageIsNotConfigured"];
            default: components["responses"]["Problem"];
        };
    };
    upload_theme: {
        parameters: {
            query?: {
                /** @description Validate only; nothing is written. */
                validate?: components["parameters"]["QueryValidate"];
            };
            header?: never;
            path: {
                /** @description ID of the theme: the ID of a tenant, optionally followed by `-` and a suffix */
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
            /** @description The theme is valid; nothing was stored */
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
            409: components["responses"]["ThemeStorageIsNotConfigured"];
            /** @description The theme is invalid; `errors` lists all problems, with file and line as `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    activate_theme_version: {
        parameters: {
            query?: never;
            header: {
                /** @description The `ETag` of the versions, or `*` for any */
                "If-Match": string;
            };
            path: {
                /** @description ID of the theme */
                theme: components["parameters"]["PathTheme"];
                /** @description ID of the version */
                version: components["parameters"]["PathVersion"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The active version */
            200: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThemeVersionView"];
                };
            };
            409: components["responses"]["ThemeStorageIsNotConfigured"];
            412: components["responses"]["ChangedBySomeoneElse"];
            /** @description The version is no longer valid; `errors` lists all problems */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            428: components["responses"]["IfMatchIsMissing"];
            default: components["responses"]["Problem"];
        };
    };
    download_theme_version: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the theme */
                theme: components["parameters"]["PathTheme"];
                /** @description ID of the version */
                version: components["parameters"]["PathVersion"];
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
            409: components["responses"]["ThemeStorageIsNotConfigured"];
            default: components["responses"]["Problem"];
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
            default: components["responses"]["Problem"];
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
            /** @description Created; the secret is shown only once */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedToken"];
                };
            };
            /** @description The limit of tokens is reached */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    revoke_token: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the token */
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
            default: components["responses"]["Problem"];
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
            /** @description The result */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UrlTestResult"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
}
