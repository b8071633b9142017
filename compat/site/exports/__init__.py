"""Files of the site that other programs read: feeds, calendars, badges, the database, locks."""
