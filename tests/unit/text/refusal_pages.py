"""A labelled set of pages that are no content, made from described shapes: what such pages say, in which layout, with which status."""

from __future__ import annotations

import html
import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass

#: The kind that is told for each shape.
TOLD = {
    "cloudflare-challenge": "challenge",
    "proof-of-work": "challenge",
    "captcha": "challenge",
    "script-check": "challenge",
    "waf-block": "blocked",
    "address-ban": "blocked",
    "country-block": "blocked",
    "bot-block": "blocked",
    "rate-limit": "rate-limited",
    "login-wall": "login",
    "members-only": "login",
    "session-expired": "login",
    "cookie-wall": "consent",
    "age-gate": "consent",
    "domain-for-sale": "parked",
    "registrar-page": "parked",
    "not-found": "not-found",
    "product-gone": "not-found",
    "maintenance": "server-error",
    "internal-error": "server-error",
}


@dataclass(frozen=True, slots=True)
class Refused:
    """A page, and what it is."""

    shape: str
    html: str
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def kind(self) -> str:
        """What is to be told of it."""
        return TOLD[self.shape]


#: What the pages say: title, heading, text.
TEXTS: dict[str, list[tuple[str, str, str]]] = {
    "cloudflare-challenge": [
        ("Just a moment...", "shop.example", "Verifying you are human. This may take a few seconds. shop.example needs to review the security of your connection before proceeding."),
        ("Attention Required! | Cloudflare", "One more step", "Please complete the security check to access forum.example. Why do I have to complete a CAPTCHA?"),
        ("Einen Moment bitte …", "laden.example", "Bestätigen Sie, dass Sie ein Mensch sind. Dies kann einige Sekunden dauern."),
        ("Un instant…", "boutique.example", "Vérification que vous êtes humain. Cela peut prendre quelques secondes."),
    ],
    "proof-of-work": [
        ("Making sure you're not a bot!", "Making sure you're not a bot!", "You are seeing this because the administrator of this website has set up Anubis to protect the server against AI companies aggressively scraping websites. Calculating difficulty 4."),
        ("Checking your browser", "Checking your browser before accessing git.example", "This process is automatic. Your browser will redirect to your requested content shortly. Please allow up to 5 seconds."),
    ],
    "captcha": [
        ("Robot Check", "Enter the characters you see below", "Sorry, we just need to make sure you're not a robot. For best results, please make sure your browser is accepting cookies. Type the characters you see in this image."),
        ("Are you a human?", "Pardon Our Interruption", "As you were browsing something about your browser made us think you were a bot. Please solve this CAPTCHA to regain access."),
        ("Access to this page has been denied", "Press & Hold to confirm you are a human (and not a bot).", "Reference ID 7f3a"),
        ("Vérification", "Êtes-vous un robot ?", "Confirmez que vous n'êtes pas un robot en cochant la case ci-dessous."),
        ("验证", "请完成安全验证", "请按住滑块，拖动到最右边，以继续访问。"),
    ],
    "script-check": [
        ("Please wait", "Please wait while we verify your browser", "Please enable JavaScript and cookies to continue. You will be redirected once the validation is complete."),
        ("Security check", "Checking if the site connection is secure", "Enable JavaScript and cookies to continue"),
    ],
    "waf-block": [
        ("Access Denied", "Access Denied", 'You don\'t have permission to access "http://www.shop.example/" on this server. Reference #18.4d3e2f17.1700000000.2a9b'),
        ("Request Rejected", "", "The requested URL was rejected. Please consult with your administrator. Your support ID is: 1234567890123456789"),
        ("Sucuri WebSite Firewall - Access Denied", "Access Denied - Sucuri Website Firewall", "If you are the site owner (or you manage this site), please whitelist your IP or if you think this block is an error please open a support ticket."),
        ("403 Forbidden", "403 Forbidden", "Request forbidden by administrative rules."),
        ("Attention Required! | Cloudflare", "Sorry, you have been blocked", "You are unable to access shop.example. Why have I been blocked? This website is using a security service to protect itself from online attacks."),
    ],
    "address-ban": [
        ("Access denied", "Error 1006", "The owner of this website (forum.example) has banned your IP address (192.0.2.7)."),
        ("Blocked", "Your IP address has been blocked", "Your IP address 192.0.2.7 has been temporarily blocked due to suspicious activity."),
        ("Gesperrt", "Ihre IP-Adresse wurde gesperrt", "Aufgrund ungewöhnlicher Aktivitäten wurde Ihre IP-Adresse gesperrt."),
        ("Accès refusé", "Accès refusé", "Votre adresse IP a été bloquée."),
    ],
    "country-block": [
        ("Unavailable", "This content is not available in your region", "We recognise you are attempting to access this website from a country belonging to the European Economic Area and therefore cannot grant you access at this time."),
        ("Access denied", "Error 1009", "The owner of this website (news.example) has banned the country or region your IP address is in (DE) from accessing this website."),
        ("Not available", "Not available in your country", "Sorry, this service is not available in your country."),
    ],
    "bot-block": [
        ("Unusual traffic", "Our systems have detected unusual traffic from your computer network", "This page checks to see if it's really you sending the requests, and not a robot."),
        ("Blocked", "Automated access is not permitted", "We have detected automated requests from your browser. Bots are not allowed on this site."),
    ],
    "rate-limit": [
        ("429 Too Many Requests", "Too Many Requests", "You have sent too many requests in a given amount of time."),
        ("Slow down", "You have been rate limited", "Error 1015. The owner of this website has banned you temporarily from accessing this website."),
        ("Too many requests", "Whoa there!", "You are making requests too quickly. Please wait a few minutes before you try again."),
        ("Zu viele Anfragen", "Zu viele Anfragen", "Bitte versuchen Sie es später erneut."),
        ("Trop de requêtes", "Trop de requêtes", "Veuillez réessayer dans quelques minutes."),
        ("请求过于频繁", "请求过于频繁", "您的访问过于频繁，请稍后再试。"),
    ],
    "login-wall": [
        ("Log in", "Log in to continue", "You must log in to continue. Forgot your password? Create new account"),
        ("Sign in", "Sign in to your account", "Please sign in to view this page. Email Password Remember me"),
        ("Anmelden", "Anmelden", "Bitte melden Sie sich an, um fortzufahren. E-Mail Passwort vergessen?"),
        ("Connexion", "Connexion", "Vous devez être connecté pour accéder à cette page. Mot de passe oublié ?"),
        ("Iniciar sesión", "Iniciar sesión", "Debes iniciar sesión para ver esta página. ¿Olvidaste tu contraseña?"),
        ("登录", "登录", "请先登录后再访问此页面。 用户名 密码 忘记密码"),
    ],
    "members-only": [
        ("Members only", "You must be logged in to do that", "You must be logged in to view this content. Log in or register."),
        ("Error", "Forum", "You are not logged in or you do not have permission to access this page."),
    ],
    "session-expired": [
        ("Session expired", "Your session has expired", "Please log in again to continue."),
        ("Sitzung abgelaufen", "Ihre Sitzung ist abgelaufen", "Bitte melden Sie sich erneut an."),
    ],
    "cookie-wall": [
        ("Before you continue", "Before you continue to video.example", "We use cookies and data to deliver and maintain our services. Reject all Accept all More options"),
        ("Zustimmung", "Weiter mit Werbung lesen", "Besuchen Sie uns wie gewohnt mit Werbung und Tracking. Zustimmen und weiter. Oder werbefrei abonnieren."),
        ("Privacy", "We value your privacy", "We and our partners store and access information on a device. Accept all cookies to continue to the site."),
        ("Cookies", "Nous respectons votre vie privée", "Accepter et continuer. Continuer sans accepter."),
    ],
    "age-gate": [
        ("Age verification", "Are you 18 or older?", "You must be at least 18 years old to enter this site. I am 18 or older - Enter. I am under 18 - Exit."),
        ("Age check", "Please verify your age", "You must be of legal drinking age to enter. Enter your date of birth."),
        ("Altersprüfung", "Bist du mindestens 18 Jahre alt?", "Diese Seite ist nur für Erwachsene. Ja Nein"),
    ],
    "domain-for-sale": [
        ("greatname.example is for sale", "greatname.example", "This domain is for sale. Buy this domain now. Make an offer."),
        ("greatname.example", "The domain greatname.example may be for sale", "Click here to inquire about this domain."),
        ("Diese Domain steht zum Verkauf", "tollername.example", "Diese Domain steht zum Verkauf! Domain erwerben"),
        ("beaunom.example", "Ce nom de domaine est à vendre", "Faire une offre"),
        ("此域名出售", "haoming.example", "该域名正在出售，欢迎联系购买。"),
    ],
    "registrar-page": [
        ("Welcome to nginx!", "Welcome to nginx!", "If you see this page, the nginx web server is successfully installed and working. Further configuration is required."),
        ("Apache2 Debian Default Page: It works", "It works!", "This is the default welcome page used to test the correct operation of the Apache2 server after installation on Debian systems."),
        ("Domain parked", "This domain is parked", "This domain has been registered and is parked free, courtesy of the registrar."),
        ("Coming soon", "Future home of something quite cool", "If you're the site owner, log in to launch this site. If you are a visitor, check back soon."),
        ("Account suspended", "This Account has been suspended.", "Contact your hosting provider for more information."),
    ],
    "not-found": [
        ("Page not found", "404", "Sorry, the page you are looking for could not be found."),
        ("Page Not Found - Shop", "Oops! That page can’t be found.", "It looks like nothing was found at this location. Maybe try a search?"),
        ("Seite nicht gefunden", "Seite nicht gefunden", "Die von Ihnen gesuchte Seite existiert nicht."),
        ("Page introuvable", "Page introuvable", "La page que vous recherchez n'existe pas ou plus."),
        ("Página no encontrada", "Página no encontrada", "Lo sentimos, la página que buscas no existe."),
        ("Страница не найдена", "Страница не найдена", "К сожалению, запрашиваемая страница не существует."),
        ("页面不存在", "404", "抱歉，您访问的页面不存在。"),
        ("ページが見つかりません", "ページが見つかりません", "お探しのページは見つかりませんでした。"),
        ("Error", "We can't find that page", "The page you requested doesn't exist or has been moved."),
    ],
    "product-gone": [
        ("Shop", "Sorry", "This product is no longer available."),
        ("Listing", "This listing has ended", "The item you are looking for is no longer available."),
        ("Video", "Video unavailable", "This video has been removed by the uploader."),
        ("Jobs", "This job has expired", "This position is no longer available."),
    ],
    "maintenance": [
        ("Maintenance", "We'll be back soon!", "Sorry for the inconvenience but we're performing some maintenance at the moment."),
        ("Site under maintenance", "Under maintenance", "Our site is currently undergoing scheduled maintenance. Please check back later."),
        ("Wartungsarbeiten", "Wartungsarbeiten", "Wegen Wartungsarbeiten ist die Seite vorübergehend nicht erreichbar."),
        ("Maintenance", "Site en maintenance", "Le site est actuellement en maintenance. Merci de revenir plus tard."),
        ("系统维护", "系统维护中", "网站正在维护，请稍后访问。"),
    ],
    "internal-error": [
        ("500 Internal Server Error", "Internal Server Error", "The server encountered an internal error and was unable to complete your request."),
        ("Error", "Error establishing a database connection", ""),
        ("502 Bad Gateway", "502 Bad Gateway", "nginx"),
        ("Something went wrong", "Oops, something went wrong", "An unexpected error has occurred. Please try again later."),
        ("Service Unavailable", "Service Unavailable", "The server is temporarily unable to service your request due to maintenance downtime or capacity problems."),
        ("There has been a critical error", "", "There has been a critical error on this website."),
    ],
}  # fmt: skip

_LOGIN = (
    '<form method="post" action="/login"><input name="user"><input type="password" name="password">'
    "<button>OK</button></form>"
)

#: What such pages look like: as a bare page of a server, as a box in the middle, and within a site's frame.
LAYOUTS = (
    "<html><head><title>{title}</title></head><body><h1>{heading}</h1><p>{text}</p>{form}</body></html>",
    '<!DOCTYPE html><html><head><meta charset="utf-8"><title>{title}</title><style>body{{margin:0}}.box{{width:40%}}'
    '</style><script>var started = Date.now();</script></head><body><div class="wrap"><div class="box"><h2>{heading}</h2>'
    '<p>{text}</p>{form}</div></div><script src="/static/app.js"></script></body></html>',
    '<!DOCTYPE html><html><head><title>{title}</title></head><body><header><a href="/">Home</a> <a href="/about">About</a>'
    ' <a href="/contact">Contact</a></header><main><h1>{heading}</h1><div><p>{text}</p></div>{form}</main><footer><a '
    'href="/privacy">Privacy</a> <a href="/terms">Terms</a> © 2026</footer></body></html>',
)


def refused_pages() -> Iterator[Refused]:
    """All of them: each text in each layout."""
    chance = random.Random(7)
    for shape, texts in TEXTS.items():
        for (title, heading, text), layout in itertools.product(texts, LAYOUTS):
            form = _LOGIN if TOLD[shape] == "login" else ""
            page = layout.format(
                title=html.escape(title), heading=html.escape(heading), text=html.escape(text), form=form
            )
            headers: tuple[tuple[str, str], ...] = ()
            if shape == "cloudflare-challenge" and chance.random() < 0.5:
                headers = (("cf-mitigated", "challenge"),)
            yield Refused(shape, page, headers)
