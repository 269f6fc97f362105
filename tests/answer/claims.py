"""Sources with sentences that a model may make of them: true ones, and ones that turn them around."""

from __future__ import annotations

#: A source, what may truly be said of it, and what may not.
CLAIMS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        "Cache entries live for ten minutes. The queue holds 500 jobs, and each job may be retried 3 times. Entries of"
        " the session cache are not written to disk.",
        (
            "The queue holds 500 jobs.",
            "A job may be retried 3 times.",
            "Entries in the session cache are not written to disk.",
            "Entries of the cache live for ten minutes.",
        ),
        (
            "The queue does not hold 500 jobs.",
            "The queue holds 300 jobs.",
            "A job may be retried 500 times.",
            "Entries of the session cache are written to disk.",
            "Each job must be retried 3 times.",
            "Cache entries never live for ten minutes.",
            "The queue holds 500 jobs for each of its nine tenants.",
        ),
    ),
    (
        "The web server listens on port 9001 by default and accepts connections from the local host only. If a password"
        " is set, it must be at least 12 characters long.",
        (
            "By default the web server listens on port 9001.",
            "The server accepts connections only from the local host.",
            "A password must be at least 12 characters long.",
        ),
        (
            "By default the web server listens on port 9010.",
            "The web server does not listen on port 9001 by default.",
            "A password must be at most 12 characters long.",
            "The server rejects connections from the local host.",
            "The server accepts connections from remote hosts only.",
            "A password need not be at least 12 characters long.",
            "The web server always listens on port 9001.",
        ),
    ),
    (
        "Reading from memory is faster than reading from disk. A backup takes about 40 minutes, and it usually runs"
        " before midnight.",
        (
            "Reading from memory is faster than reading from disk.",
            "A backup takes about 40 minutes.",
            "The backup usually runs before midnight.",
        ),
        (
            "Reading from disk is faster than reading from memory.",
            "Reading from memory is slower than reading from disk.",
            "A backup takes about 40 hours.",
            "A backup takes exactly 40 minutes.",
            "The backup usually runs after midnight.",
            "The backup always runs before midnight.",
            "Reading from memory is not faster than reading from disk.",
        ),
    ),
    (
        "Use keyfile mode when the key should stay on the client. With repokey the key is stored in the repository, so"
        " a passphrase is required. Authenticated mode does not encrypt data.",
        (
            "With repokey the key is stored in the repository.",
            "Authenticated mode does not encrypt data.",
            "In keyfile mode the key stays on the client.",
            "A passphrase is required with repokey.",
        ),
        (
            "With repokey the key is not stored in the repository.",
            "Authenticated mode encrypts data.",
            "With repokey a passphrase is optional.",
            "With repokey the key is stored outside the repository.",
            "In keyfile mode the key stays on the server.",
            "With repokey a passphrase is not required.",
        ),
    ),
    (
        "The boiler was installed in March 2019 by Huber. Its pressure should be between 1.5 and 2 bar. If it falls"
        " below 1 bar, refill it. The next service is due in October 2026.",
        (
            "Huber installed the boiler in March 2019.",
            "The pressure should be between 1.5 and 2 bar.",
            "The next service is due in October 2026.",
            "Refill it if the pressure falls below 1 bar.",
        ),
        (
            "Lehner installed the boiler in March 2019.",
            "Huber installed the boiler in March 2021.",
            "The pressure should be between 2 and 3.5 bar.",
            "Refill it if the pressure rises above 1 bar.",
            "The pressure should not be between 1.5 and 2 bar.",
            "The next service is due in October 2019.",
            "The last service was due in October 2026.",
        ),
    ),
    (
        "Some users may see the old page for an hour. Most requests are answered from the edge. Administrators can"
        " disable the cache for a site.",
        (
            "Some users may see the old page for an hour.",
            "Most requests are answered from the edge.",
            "An administrator can disable the cache for a site.",
        ),
        (
            "All users see the old page for an hour.",
            "Every request is answered from the edge.",
            "Some users may see the new page for an hour.",
            "Administrators can enable the cache for a site.",
            "Administrators cannot disable the cache for a site.",
            "Some users may see the old page for a week and an hour.",
            "Most requests are not answered from the edge.",
        ),
    ),
    (
        "Green tea contains less caffeine than coffee. A cup of coffee has 95 mg of caffeine; a cup of green tea has 30"
        " mg. Neither of them should be drunk late in the evening.",
        (
            "Green tea contains less caffeine than coffee.",
            "A cup of green tea has 30 mg of caffeine.",
            "A cup of coffee has 95 mg of caffeine.",
        ),
        (
            "Coffee contains less caffeine than green tea.",
            "Green tea contains more caffeine than coffee.",
            "A cup of coffee has 95 g of caffeine.",
            "A cup of coffee has 65 mg of caffeine.",
            "Green tea does not contain less caffeine than coffee.",
            "Green tea cures headaches and contains less caffeine.",
        ),
    ),
    (
        "The import fails if a row is longer than 4,096 bytes. Rows without a date are skipped, but they are counted in"
        " the report. Dates are read in UTC unless a zone is given.",
        (
            "The import fails if a row is longer than 4096 bytes.",
            "Rows without a date are skipped.",
            "Rows without a date are counted in the report.",
            "Dates are read in UTC unless a zone is given.",
        ),
        (
            "The import fails if a row is shorter than 4,096 bytes.",
            "The import succeeds if a row is longer than 4,096 bytes.",
            "The import fails if a row is longer than 4,096 kilobytes.",
            "Rows without a date are not skipped.",
            "Rows without a date are not counted in the report.",
            "Dates are always read in UTC.",
            "Rows with a date are skipped.",
        ),
    ),
    (
        "Lena sold the blue car to Piet in May for 2,400 euros. She bought a bicycle from him. The chainsaw may not be"
        " borrowed, the ladder may.",
        (
            "Lena sold the blue car to Piet in May.",
            "The blue car was sold to Piet for 2,400 euros.",
            "The chainsaw may not be borrowed.",
        ),
        (
            "Lena bought the blue car from Piet in May.",
            "The blue car was sold to Omar for 2,400 euros.",
            "The blue car was sold to Piet for 2,900 euros.",
            "The blue car was sold to Piet for 2,400 dollars.",
            "The chainsaw may be borrowed.",
            "Lena did not sell the blue car to Piet.",
        ),
    ),
    (
        "Enable compression to reduce the size of the archive. The default level is 3; the highest level is 22. Level"
        " 22 needs more memory than level 3. Compression is off for files smaller than 1 KB.",
        (
            "Compression reduces the size of the archive.",
            "The default level is 3.",
            "The highest level is 22.",
            "Level 22 needs more memory than level 3.",
            "Compression is off for files smaller than 1 KB.",
        ),
        (
            "Compression increases the size of the archive.",
            "Disable compression to reduce the size of the archive.",
            "The default level is 22.",
            "The lowest level is 22.",
            "Level 22 needs less memory than level 3.",
            "Level 3 needs more memory than level 22.",
            "Compression is on for files smaller than 1 KB.",
            "Compression is off for files larger than 1 KB.",
            "Compression is off for files smaller than 1 MB.",
        ),
    ),
    (
        "Trains leave Vienna at 19:18 and arrive in Rome at 9:10. Breakfast is included in the sleeper only. The"
        " couchette costs 79 and the sleeper 139. Seats should be booked at least 60 days ahead.",
        (
            "The train leaves Vienna at 19:18.",
            "Breakfast is included in the sleeper only.",
            "The couchette costs 79 and the sleeper 139.",
            "Book seats at least 60 days ahead.",
        ),
        (
            "The train leaves Vienna at 18:19.",
            "The train leaves Rome at 20:18.",
            "Breakfast is not included in the sleeper.",
            "Breakfast is excluded in the sleeper only.",
            "Book seats at most 60 days ahead.",
            "Book seats at least 60 weeks ahead.",
            "The couchette costs 79 and the sleeper 190.",
            "Breakfast and a free massage are included in the sleeper.",
        ),
    ),
    (
        "A worker is restarted after it has run 100 tasks. Workers that hang are stopped by the health check, which"
        " runs every second. The health check can be turned off. Locks are released when a worker stops.",
        (
            "A worker is restarted after it has run 100 tasks.",
            "The health check runs every second.",
            "The health check can be turned off.",
            "Locks are released when a worker stops.",
            "Workers that hang are stopped by the health check.",
        ),
        (
            "A worker is restarted after it has run 1000 tasks.",
            "A worker is restarted before it has run 100 tasks.",
            "The health check never runs every second.",
            "The health check cannot be turned off.",
            "The health check can be turned on.",
            "Locks are not released when a worker stops.",
            "Locks are released when a worker starts.",
            "Workers that hang are not stopped by the health check.",
            "The health check runs every hour.",
        ),
    ),
    (
        "The trial lasted 12 weeks and had 240 participants. Weight fell by 4 kg in the group that walked, and by 1 kg"
        " in the other. The difference was not significant for people over 70. Two participants left early.",
        (
            "The trial lasted 12 weeks and had 240 participants.",
            "Weight fell by 4 kg in the group that walked.",
            "The difference was not significant for people over 70.",
            "Two participants left early.",
        ),
        (
            "The trial lasted 12 months and had 240 participants.",
            "The trial lasted 12 weeks and had 420 participants.",
            "Weight rose by 4 kg in the group that walked.",
            "Weight fell by 4 pounds in the group that walked.",
            "The difference was significant for people over 70.",
            "The difference was not significant for people under 70.",
            "Two participants left late.",
            "All participants left early.",
            "No participants left early.",
        ),
    ),
    (
        "Photos are uploaded in the original size when the phone is charging. Over a mobile network only thumbnails are"
        " sent. Deleted photos stay in the bin for 30 days and can be restored until then.",
        (
            "Photos are uploaded in the original size when the phone is charging.",
            "Only thumbnails are sent over a mobile network.",
            "Deleted photos stay in the bin for 30 days.",
            "Deleted photos can be restored for 30 days.",
        ),
        (
            "Photos are not uploaded in the original size when the phone is charging.",
            "Originals are sent over a mobile network.",
            "Deleted photos stay in the bin for 30 hours.",
            "Deleted photos stay in the bin for 90 days.",
            "Deleted photos cannot be restored.",
            "Deleted photos stay in the bin forever.",
            "No thumbnails are sent over a mobile network.",
        ),
    ),
    (
        "Ibuprofen should be taken with food, at most 400 mg three times a day. It must not be combined with aspirin."
        " Children under 12 need a lower dose. Swimming is allowed after two weeks; running is not.",
        (
            "Ibuprofen should be taken with food.",
            "Take at most 400 mg of ibuprofen three times a day.",
            "Ibuprofen must not be combined with aspirin.",
            "Children under 12 need a lower dose.",
            "Swimming is allowed after two weeks.",
        ),
        (
            "Ibuprofen should be taken without food.",
            "Take at least 400 mg of ibuprofen three times a day.",
            "Take at most 400 g of ibuprofen three times a day.",
            "Take at most 800 mg of ibuprofen three times a day.",
            "Ibuprofen must be combined with aspirin.",
            "Children under 12 need a higher dose.",
            "Children over 12 need a lower dose.",
            "Swimming is forbidden after two weeks.",
            "Swimming is not allowed after two weeks.",
            "Running is allowed after two weeks.",
        ),
    ),
    (
        "Snapshots are taken every 5 minutes and are kept for 7 days. Shared vaults can have up to 20 members. Files in"
        " the trash do not count towards the storage limit of 10 GB. The plan can be cancelled at any time, although"
        " payments are not refunded after 14 days.",
        (
            "Snapshots are taken every 5 minutes.",
            "Snapshots are kept for 7 days.",
            "A shared vault can have up to 20 members.",
            "Files in the trash do not count towards the storage limit.",
            "The storage limit is 10 GB.",
            "Payments are not refunded after 14 days.",
            "You can cancel the plan at any time.",
        ),
        (
            "Snapshots are taken every 5 hours.",
            "Snapshots are kept for 5 days.",
            "A shared vault can have more than 20 members.",
            "Files in the trash count towards the storage limit.",
            "Payments are refunded after 14 days.",
            "The plan cannot be cancelled at any time.",
            "The storage limit is 10 TB.",
            "A public vault can have up to 20 members.",
        ),
    ),
    (
        "Tove rolled the deployment back at 23:40. Omar writes the runbook until 9 May. Nobody had the pager. Karl, who"
        " owns the billing service, was not there.",
        (
            "Tove rolled the deployment back at 23:40.",
            "Omar writes the runbook until 9 May.",
            "Nobody had the pager.",
            "Karl owns the billing service.",
        ),
        (
            "Omar rolled the deployment back at 23:40.",
            "Tove rolled the deployment back at 22:15.",
            "Ines writes the runbook until 9 May.",
            "Omar writes the runbook until 9 June.",
            "Everybody had the pager.",
            "Karl was there.",
        ),
    ),
)
